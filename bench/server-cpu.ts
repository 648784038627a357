import { readdir, readFile } from "node:fs/promises";

// Of Linux, whatever the machine: USER_HZ is 100 there.
const millisecondsOfTick = 10;

/** The CPU time of all processes of the server so far, those that have ended included; Linux alone tells it. */
export async function cpuOfServer(postmaster: number): Promise<number | undefined> {
  if (process.platform !== "linux") return undefined;
  let ticks = 0;
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "");
    // After the name in brackets, which may hold spaces: state, parent, …
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [user, system, ofDeadUser, ofDeadSystem] = fields.slice(11, 15).map(Number);
    if (Number(entry) === postmaster) ticks += user! + system! + ofDeadUser! + ofDeadSystem!;
    else if (Number(fields[1]) === postmaster) ticks += user! + system!;
  }
  return ticks * millisecondsOfTick;
}
