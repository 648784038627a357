import { execFile } from "node:child_process";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds. Default: five minutes. */
  readonly timeout?: number | undefined;
}

/** Runs a program to its end, in an environment that does not show the test run around it. */
export function run(
  program: string,
  args: readonly string[],
  { cwd, env, timeout = 300_000 }: RunOptions,
): Promise<Ran> {
  const { VITEST, VITEST_POOL_ID, VITEST_WORKER_ID, NODE_ENV, ...inherited } = process.env;
  return new Promise((resolve) => {
    const options = { cwd, env: { ...inherited, ...env }, timeout, maxBuffer: 50_000_000 };
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) || 1 : 0, stdout, stderr });
    });
  });
}

/** The same, where anything but success is a fault of the test. */
export async function succeed(program: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  const ran = await run(program, args, options);
  if (ran.code !== 0) throw new Error(`${program} ${args.join(" ")} failed:\n${ran.stdout}\n${ran.stderr}`);
  return ran;
}
