import { setTimeout as pause } from "node:timers/promises";
import { loadSide } from "../sides/load.ts";
import { payloadOf, type SideName, type Tuning } from "../sides/side.ts";
import { Arrivals } from "./arrivals.ts";
import type { Channel } from "./channel.ts";

interface LatencyInput {
  side: SideName;
  url: string;
  tuning: Tuning;
  warmUp: number;
  samples: number;
}

const shortestPause = 5;
const longestPause = 25;

/**
 * From the call that enqueues a task to its handler, in milliseconds, each task alone. Both ends are in this process, on
 * connections of their own, so that one clock tells.
 *
 * @throws when a task was handled more than once.
 */
export async function latency(input: LatencyInput, channel: Channel): Promise<number[]> {
  const side = await loadSide(input.side);
  const arrivals = new Arrivals();
  const consumer = await side.openConsumer(input.url, {
    tuning: input.tuning,
    deletes: false,
    handle(n) {
      arrivals.handled(n);
      return undefined;
    },
  });
  const producer = await side.openProducer(input.url);
  await consumer.start();
  await channel.ready();
  const latencies: number[] = [];
  for (let n = 0; n < input.warmUp + input.samples; n++) {
    const arrived = arrivals.next(n);
    const began = performance.now();
    await producer.enqueue(payloadOf(n));
    latencies.push((await arrived) - began);
    channel.progress(n);
    await pause(shortestPause + Math.random() * (longestPause - shortestPause));
  }
  await producer.close();
  await consumer.stop();
  arrivals.check();
  return latencies.slice(input.warmUp);
}
