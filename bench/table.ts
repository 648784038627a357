import type { GateRow } from "./gate.ts";
import { digitsOf, metricNames, metrics } from "./metrics.ts";
import type { Results, ScenarioResult } from "./results.ts";
import type { Summary } from "./statistics.ts";

/** The results as Markdown. */
export function resultTables({ scenarios }: Pick<Results, "scenarios">): string {
  return scenarios.map(scenarioTable).join("\n\n");
}

export function gateTable(rows: readonly GateRow[]): string {
  const cells = rows.map(({ row, required, measured, ok }) => [
    row,
    required,
    measured?.toFixed(2) ?? "none",
    ok ? "reached" : "missed",
  ]);
  return table(["gate", "required", "measured", ""], cells);
}

function scenarioTable({ name, title, metric, repetitions, contenders, comparisons }: ScenarioResult): string {
  const others = metricNames.filter((one) => one !== metric && contenders.some(({ figures }) => figures[one]));
  const head = ["", "tasks", `${metrics[metric].title} (min to max)`, ...others.map((one) => metrics[one].title)];
  const rows = contenders.map(({ name, tasks, figures, error }) => [
    name,
    tasks.toLocaleString("en"),
    error ? "failed" : withSpread(figures[metric]!, digitsOf(metric, figures[metric]!.median)),
    ...others.map((one) => figures[one]?.median.toFixed(metrics[one].digits) ?? ""),
  ]);
  const ratios = comparisons.map(
    ({ of, to, metric, ratio }) =>
      `- ${of} to ${to}, ${metrics[metric].title}: ${ratio ? withSpread(ratio, 2) : "none, since one has failed"}`,
  );
  const settings = contenders.map(({ name, tuning, settings }) => `- ${name} (${tuning}): ${settingsText(settings)}`);
  const errors = contenders.flatMap(({ name, error }) => (error ? [`- ${name} failed: ${error}`] : []));
  return [
    `### ${name}: ${title}`,
    table(head, rows),
    ...[errors, ratios, settings].filter((lines) => lines.length > 0).map((lines) => lines.join("\n")),
    repetitions === 1
      ? "Measured once."
      : `Medians of ${repetitions} repetitions; a ratio is the median of the ratios of each repetition.`,
  ].join("\n\n");
}

function withSpread({ median, min, max }: Summary, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}

/** What is set; an empty object sets nothing. */
function settingsText(settings: Record<string, unknown>): string {
  const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => !isEmpty(value)));
  return isEmpty(set) ? "nothing is set" : JSON.stringify(set);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, i) => Math.max(cell.length, 3, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(" | ")} |`;
  const rule = widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
