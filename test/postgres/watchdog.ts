import { spawn } from "node:child_process";

// Standard input ends when the process that holds the other end dies, whichever way it died. The postmaster then gets
// an immediate shutdown, which unlike SIGKILL lets it release its shared memory.
const script = `
cat >/dev/null
read -r pid <"$1/data/postmaster.pid" && kill -QUIT "$pid"
tries=100
while [ -e "$1/data/postmaster.pid" ] && [ "$tries" -gt 0 ]; do tries=$((tries - 1)); sleep 0.1; done
rm -rf "$1"
`;

/** Stops the server that lives in `folder` and removes the folder once this process is gone. */
export function watchFolder(folder: string): { release(): Promise<void> } {
  const watchdog = spawn("sh", ["-c", script, "sh", folder], {
    cwd: "/",
    // In the group of this process an interrupt from the terminal would end the watchdog first.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const input = watchdog.stdin as typeof watchdog.stdin & { unref(): void };
  input.unref();
  watchdog.unref();
  return {
    async release() {
      watchdog.ref();
      const exited = new Promise((resolve) => watchdog.once("exit", resolve));
      input.end();
      await exited;
    },
  };
}
