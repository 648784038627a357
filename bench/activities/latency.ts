import { setTimeout as pause } from "node:timers/promises";
import { loadSide } from "../sides/load.ts";
import { payloadOf, type SideName, type Tuning } from "../sides/side.ts";
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
 */
export async function latency(input: LatencyInput, channel: Channel): Promise<number[]> {
  const side = await loadSide(input.side);
  let handled = Promise.withResolvers<number>();
  let awaited = -1;
  const consumer = await side.openConsumer(input.url, {
    tuning: input.tuning,
    deletes: false,
    handle(n) {
      if (n !== awaited) throw new Error(`Task ${n} was handled while ${awaited} was awaited.`);
      handled.resolve(performance.now());
      return undefined;
    },
  });
  const producer = await side.openProducer(input.url);
  await consumer.start();
  await channel.ready();
  const latencies: number[] = [];
  for (let n = 0; n < input.warmUp + input.samples; n++) {
    handled = Promise.withResolvers();
    awaited = n;
    const began = performance.now();
    await producer.enqueue(payloadOf(n));
    latencies.push((await handled.promise) - began);
    channel.progress(n);
    await pause(shortestPause + Math.random() * (longestPause - shortestPause));
  }
  await producer.close();
  await consumer.stop();
  return latencies.slice(input.warmUp);
}
