import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What differs between the packages that are installed in a folder and those that its lock file has for this machine.
 */
export function wronglyInstalled(folder, isAsked = () => true) {
  const { packages } = read(folder, "package-lock.json");
  return Object.entries(packages).flatMap(([path, { version, os, cpu, link }]) => {
    if (!path.startsWith("node_modules/") || link || !isAsked(path) || !fits(os, process.platform)) return [];
    if (!fits(cpu, process.arch)) return [];
    const installed = versionIn(folder, path);
    if (installed === version) return [];
    const name = path.slice("node_modules/".length);
    return [installed === undefined ? `${name} is missing` : `${name} is ${installed}, not ${version}`];
  });
}

function fits(allowed, own) {
  return allowed === undefined || [allowed].flat().includes(own);
}

function versionIn(folder, path) {
  try {
    return read(folder, path, "package.json").version;
  } catch {
    return undefined;
  }
}

function read(...path) {
  return JSON.parse(readFileSync(join(...path), "utf8"));
}
