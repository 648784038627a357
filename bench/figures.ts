import { gate } from "./gate.ts";
import type { Results } from "./results.ts";
import { gateTable, resultTables } from "./table.ts";

const begin = "<!-- Figures: written by `npm run bench -- --publish`. -->";
const end = "<!-- End of the figures. -->";

/** A document with the figures of these results in the place that it has for them. */
export function withFigures(document: string, results: Results): string {
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from) throw new Error(`The document has no place for figures: ${begin} … ${end}`);
  return `${document.slice(0, from + begin.length)}\n\n${figures(results)}\n\n${document.slice(to)}`;
}

function figures(results: Results): string {
  const { date, machine, versions, server } = results;
  const { cpu, cores, memoryGb, system } = machine;
  return [
    `Measured on ${date.slice(0, 10)}: ${cores} cores of ${cpu}, ${memoryGb} GB, ${system}.`,
    Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")
      .concat("."),
    `Of Postgres' settings these differ from its defaults: ${Object.entries(server)
      .map(([name, value]) => `\`${name}=${value}\``)
      .join(", ")}.`,
    "![The rates as bars](../bench/published/chart.svg)",
    gateTable(gate(results)),
    resultTables(results),
  ].join("\n\n");
}
