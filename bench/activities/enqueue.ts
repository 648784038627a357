import { loadSide } from "../sides/load.ts";
import { type Payload, type Producer, payloadsOf, type SideName } from "../sides/side.ts";
import type { Channel } from "./channel.ts";

interface EnqueueInput {
  side: SideName;
  url: string;
  /** A database to enqueue into first, so that the code is compiled. */
  warmUp: { url: string; tasks: number };
  tasks: number;
  /** How many calls are under way at once; with `many` there is one call for all tasks. */
  callers: number;
  many: boolean;
}

export interface EnqueueReport {
  /** Milliseconds. */
  elapsed: number;
  cpu: number;
}

/** Enqueues one by one from several callers, or all in one call. */
export async function enqueue(input: EnqueueInput, channel: Channel): Promise<EnqueueReport> {
  const side = await loadSide(input.side);
  const enqueueAll = input.many
    ? (producer: Producer, payloads: readonly Payload[]) => producer.enqueueMany(payloads)
    : (producer: Producer, payloads: readonly Payload[]) => oneByOne(producer, payloads, input.callers);
  const other = await side.openProducer(input.warmUp.url);
  await enqueueAll(other, payloadsOf(0, input.warmUp.tasks));
  await other.close();

  const producer = await side.openProducer(input.url);
  // Opens the connections.
  await oneByOne(producer, payloadsOf(0, input.callers), input.callers);
  const measured = payloadsOf(0, input.tasks);
  await channel.ready();
  const cpu = process.cpuUsage();
  const began = performance.now();
  await enqueueAll(producer, measured);
  const elapsed = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  await producer.close();
  return { elapsed, cpu: (user + system) / 1_000 };
}

async function oneByOne(producer: Producer, payloads: readonly Payload[], callers: number): Promise<void> {
  const rest = payloads.values();
  const call = async () => {
    for (const payload of rest) await producer.enqueue(payload);
  };
  await Promise.all(Array.from({ length: callers }, call));
}
