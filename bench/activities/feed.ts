import { loadSide } from "../sides/load.ts";
import { payloadOf, type SideName } from "../sides/side.ts";
import type { Channel } from "./channel.ts";

/** Enqueues as many tasks as it is told to, each time that it is told, numbered from `from` on. */
export async function feed(input: { side: SideName; url: string; from: number }, channel: Channel): Promise<void> {
  const side = await loadSide(input.side);
  const producer = await side.openProducer(input.url);
  await channel.ready();
  let enqueued = input.from;
  for (;;) {
    const length = await channel.next();
    if (length === undefined) break;
    const first = enqueued;
    await producer.enqueueMany(Array.from({ length }, (_, i) => payloadOf(first + i)));
    enqueued += length;
    channel.progress(enqueued);
  }
  await producer.close();
}
