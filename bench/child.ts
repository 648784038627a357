import { inspect } from "node:util";
import type { Activity, Channel } from "./activities/channel.ts";
import { type ActivityName, loadActivity } from "./activities/load.ts";
import type { FromChild, ToChild } from "./protocol.ts";

// A measured process: does one activity, and tells its parent.

const begin = Promise.withResolvers<void>();
const end = Promise.withResolvers<void>();

const channel: Channel = {
  ready() {
    send({ type: "ready" });
    return begin.promise;
  },
  progress: (done) => send({ type: "progress", done }),
  ended: end.promise,
};

process.on("message", (message: ToChild) => {
  if (message.type === "do") void perform(message.activity, message.input);
  if (message.type === "begin") begin.resolve();
  if (message.type === "end") end.resolve();
});
process.on("uncaughtException", fail);
// Its parent is gone.
process.on("disconnect", () => process.exit(1));

async function perform(name: ActivityName, input: unknown): Promise<void> {
  try {
    const activity = (await loadActivity(name)) as Activity<unknown, unknown>;
    const report = await activity(input, channel);
    send({ type: "report", report });
  } catch (error) {
    fail(error);
  }
}

/** Its parent ends it for this. */
function fail(error: unknown): void {
  send({ type: "error", message: inspect(error) });
}

function send(message: FromChild): void {
  process.send?.(message);
}
