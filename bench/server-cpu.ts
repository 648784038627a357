import { readdir, readFile } from "node:fs/promises";

// Of Linux, whatever the machine: USER_HZ is 100 there.
const millisecondsOfTick = 10;

/** The CPU time of all processes of the server so far, those that have ended included; Linux alone tells it. */
export async function cpuOfServer(postmaster: number): Promise<number | undefined> {
  if (process.platform !== "linux") return undefined;
  for (;;) {
    const before = await timesOf(String(postmaster));
    const children = await Promise.all((await readdir("/proc")).filter((entry) => /^\d+$/.test(entry)).map(timesOf));
    const after = await timesOf(String(postmaster));
    // One that ended while they were read may be counted twice or not at all.
    if (before?.ofDead !== after?.ofDead) continue;
    const ofLiving = children.reduce((sum, times) => sum + (times?.parent === postmaster ? times.own : 0), 0);
    return ((after?.own ?? 0) + (after?.ofDead ?? 0) + ofLiving) * millisecondsOfTick;
  }
}

async function timesOf(pid: string) {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (stat === undefined) return undefined;
  // After the name in brackets, which may hold spaces: state, parent, …
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system, userOfDead, systemOfDead] = fields.slice(11, 15).map(Number);
  return { parent: Number(fields[1]), own: user! + system!, ofDead: userOfDead! + systemOfDead! };
}
