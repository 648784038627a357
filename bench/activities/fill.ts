import { loadSide } from "../sides/load.ts";
import { payloadOf, type SideName, type Tuning } from "../sides/side.ts";

const chunk = 50_000;

/** Makes a side's tables, and enqueues tasks into them. */
export async function fill(input: { side: SideName; url: string; tuning: Tuning; tasks: number }): Promise<void> {
  const side = await loadSide(input.side);
  await side.install(input.url, input.tuning);
  if (input.tasks === 0) return;
  const producer = await side.openProducer(input.url);
  for (let from = 0; from < input.tasks; from += chunk) {
    const length = Math.min(chunk, input.tasks - from);
    await producer.enqueueMany(Array.from({ length }, (_, i) => payloadOf(from + i)));
  }
  await producer.close();
}
