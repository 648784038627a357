import * as echarts from "echarts";
import { digitsOf, metrics } from "./metrics.ts";
import type { Results, ScenarioResult } from "./results.ts";
import type { SideName } from "./sides/side.ts";

const width = 900;
const barHeight = 26;
const titleHeight = 44;
const labelWidth = 260;
const valueWidth = 150;

const colors: Record<SideName, string> = {
  pgqueue: "#2563eb",
  floor: "#93c5fd",
  "graphile-worker": "#ea580c",
  "pg-boss": "#65a30d",
};

/** One chart of bars for each scenario, one below the other: medians, and whiskers from the least to the most. */
export function resultChart({ scenarios, date, quick, machine }: Results): string {
  const panels = placed(scenarios.filter(({ contenders }) => contenders.some(({ error }) => !error)));
  const height = (panels.at(-1)?.bottom ?? 0) + titleHeight;
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height });
  const footer = `${machine.cpu}, ${machine.cores} cores; ${date.slice(0, 10)}${quick ? "; a quick run, not to be quoted" : ""}`;
  chart.setOption({
    backgroundColor: "#ffffff",
    animation: false,
    title: [
      ...panels.map(({ scenario, top }) => ({
        text: `${scenario.title}, ${metrics[scenario.metric].title}; ${metrics[scenario.metric].better} is better`,
        top: top + 8,
        left: 10,
        textStyle: { fontSize: 14 },
      })),
      { text: footer, top: height - 28, left: 10, textStyle: { fontSize: 11, fontWeight: "normal", color: "#666666" } },
    ],
    grid: panels.map(({ top, bottom }) => ({
      top: top + titleHeight - 8,
      height: bottom - top - titleHeight,
      left: labelWidth,
      right: valueWidth,
    })),
    xAxis: panels.map((_, gridIndex) => ({ gridIndex, type: "value", show: false, min: 0 })),
    yAxis: panels.map(({ scenario }, gridIndex) => ({
      gridIndex,
      type: "category",
      inverse: true,
      data: measured(scenario).map(({ name }) => name),
      axisTick: { show: false },
      axisLine: { show: false },
    })),
    series: panels.flatMap(({ scenario }, i) => [bars(scenario, i), whiskers(scenario, i)]),
  } as echarts.EChartsCoreOption);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function placed(scenarios: readonly ScenarioResult[]) {
  let bottom = 0;
  return scenarios.map((scenario) => {
    const top = bottom;
    bottom = top + titleHeight + measured(scenario).length * barHeight;
    return { scenario, top, bottom };
  });
}

function measured(scenario: ScenarioResult) {
  return scenario.contenders.flatMap(({ name, side, figures }) => {
    const summary = figures[scenario.metric];
    return summary ? [{ name, side, summary }] : [];
  });
}

function bars(scenario: ScenarioResult, index: number) {
  return {
    type: "bar",
    xAxisIndex: index,
    yAxisIndex: index,
    barWidth: "60%",
    data: measured(scenario).map(({ side, summary }) => ({
      value: summary.median,
      itemStyle: { color: colors[side] },
    })),
  };
}

/** With the median behind them, where they do not cross it. */
function whiskers(scenario: ScenarioResult, index: number) {
  const labels = measured(scenario).map(({ summary: { median } }) => {
    const digits = digitsOf(scenario.metric, median);
    return median.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  });
  return {
    type: "custom",
    xAxisIndex: index,
    yAxisIndex: index,
    encode: { x: [1, 2], y: 0 },
    data: measured(scenario).map(({ summary }, i) => [i, summary.min, summary.max]),
    renderItem(_: unknown, api: { value(i: number): number; coord(point: [number, number]): [number, number] }) {
      const [left, y] = api.coord([api.value(1), api.value(0)]);
      const [right] = api.coord([api.value(2), api.value(0)]);
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style: { stroke: "#111111", lineWidth: 1 },
      });
      const label = {
        type: "text",
        style: { text: labels[api.value(0)], x: right + 8, y, verticalAlign: "middle", fill: "#333333", fontSize: 12 },
      };
      return {
        type: "group",
        children: [line(left, y, right, y), line(left, y - 4, left, y + 4), line(right, y - 4, right, y + 4), label],
      };
    },
  };
}
