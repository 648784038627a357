import { loadSide } from "../sides/load.ts";
import { payloadsOf, type SideName, type Tuning } from "../sides/side.ts";
import type { Channel } from "./channel.ts";

const chunk = 50_000;

/** Makes a side's tables, and enqueues tasks into them. */
export async function fill(
  input: { side: SideName; url: string; tuning: Tuning; tasks: number },
  channel: Channel,
): Promise<void> {
  const side = await loadSide(input.side);
  await side.install(input.url, input.tuning);
  if (input.tasks === 0) return;
  const producer = await side.openProducer(input.url);
  for (let from = 0; from < input.tasks; from += chunk) {
    const count = Math.min(chunk, input.tasks - from);
    await producer.enqueueMany(payloadsOf(from, count));
    channel.progress(from + count);
  }
  await producer.close();
}
