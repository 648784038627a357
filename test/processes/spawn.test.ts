import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { spawn } from "./spawn.ts";

const script = new URL("./mirror.ts", import.meta.url);

test("runs a TypeScript file that imports the library, and talks to it", async () => {
  const child = await spawn(script, { args: ["first", "second"], env: { MIRROR_GREETING: "hello" } });
  const ready = await child.message<{ kind: string }>(({ kind }) => kind === "ready");
  expect(ready).toEqual({
    kind: "ready",
    pid: child.pid,
    args: ["first", "second"],
    greeting: "hello",
    library: expect.stringMatching(/\/src\/schema\/index\.ts$/),
  });

  child.send({ say: "one", at: new Date(0) });
  child.send({ say: "two" });
  expect(await child.message<{ say?: string }>(({ say }) => say === "two")).toEqual({ kind: "echo", say: "two" });
  expect(await child.message()).toEqual({ kind: "echo", say: "one", at: new Date(0) });

  child.kill();
  expect(await child.exited).toEqual({ code: null, signal: "SIGTERM" });
});

test("tells how a process ended and what it complained about", async () => {
  const child = await spawn(script);
  const answer = child.message(() => false);
  child.send({ fail: "no such luck" });

  await expect(answer).rejects.toThrow("no such luck");
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.stderr).toContain("no such luck");
  await expect(child.message(() => false)).rejects.toThrow("exit code 1");
});

test("kills a process that would not end by itself", async () => {
  const child = await spawn(script, { env: { MIRROR_STUBBORN: "yes" } });
  await child.message<{ kind: string }>(({ kind }) => kind === "ready");
  child.kill("SIGTERM");
  await child.message<{ kind: string }>(({ kind }) => kind === "ignored SIGTERM");
  child.kill("SIGKILL");
  expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
});

test("does not outlive the process that started it", async () => {
  const listener = createServer();
  const connected = once(listener, "connection") as Promise<[Socket]>;
  await once(listener.listen(0, "127.0.0.1"), "listening");

  const parent = await spawn(script);
  parent.send({ spawn: { MIRROR_CONNECT: String((listener.address() as AddressInfo).port) } });
  const [connection] = await connected;
  parent.kill("SIGKILL");

  // A connection tells that its process is gone even where nobody collects the orphan's process id.
  connection.on("error", () => {}).resume();
  await once(connection, "close");
  listener.close();
});
