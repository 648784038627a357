/** What became of a case, as a line of the suite's output. */
export interface Report {
  readonly name: string;
  readonly end: "passed" | "failed" | "skipped";
  /** The error, or why it was skipped. */
  readonly note?: string;
}

const mark = "conformance: ";

export function printReport(report: Report): void {
  console.log(mark + JSON.stringify(report));
}

export function readReports(output: string): Report[] {
  const lines = output.split("\n").filter((line) => line.startsWith(mark));
  return lines.map((line) => JSON.parse(line.slice(mark.length)) as Report);
}
