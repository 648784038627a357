import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { spawn } from "./spawn.ts";

/** The other side of `spawn.test.ts`: tells about itself, sends messages back, and misbehaves on demand. */

interface Order {
  fail?: string;
  spawn?: Record<string, string>;
}

process.on("message", async (order: Order) => {
  if (order.fail !== undefined) throw new Error(order.fail);
  if (order.spawn) {
    await spawn(fileURLToPath(import.meta.url), { env: order.spawn });
    return;
  }
  process.send?.({ kind: "echo", ...order });
});

if (process.env.MIRROR_STUBBORN) {
  process.on("SIGTERM", () => process.send?.({ kind: "ignored SIGTERM" }));
}

if (process.env.MIRROR_CONNECT) connect(Number(process.env.MIRROR_CONNECT), "127.0.0.1");

process.send?.({
  kind: "ready",
  pid: process.pid,
  args: process.argv.slice(2),
  greeting: process.env.MIRROR_GREETING,
  library: import.meta.resolve("pgqueue/schema"),
});
