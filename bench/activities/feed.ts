import { loadSide } from "../sides/load.ts";
import { payloadsOf, type SideName } from "../sides/side.ts";
import type { Channel } from "./channel.ts";

/** Enqueues as many tasks as it is told to, each time that it is told, numbered from `from` on. */
export async function feed(input: { side: SideName; url: string; from: number }, channel: Channel): Promise<void> {
  const side = await loadSide(input.side);
  const producer = await side.openProducer(input.url);
  await channel.ready();
  let enqueued = input.from;
  for (;;) {
    const count = await channel.next();
    if (count === undefined) break;
    await producer.enqueueMany(payloadsOf(enqueued, count));
    enqueued += count;
    channel.progress(enqueued);
  }
  await producer.close();
}
