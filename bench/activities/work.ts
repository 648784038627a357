import { setTimeout as pause } from "node:timers/promises";
import { loadSide } from "../sides/load.ts";
import type { Handle, SideName, Tuning } from "../sides/side.ts";
import type { Channel } from "./channel.ts";

export interface WorkInput {
  side: SideName;
  tuning: Tuning;
  url: string;
  /** A database whose tasks are worked off first, so that the code is compiled. */
  warmUp: { url: string; tasks: number };
  /** The highest `n` that a task may have, plus one. */
  tasks: number;
  /** How long a handler takes, in milliseconds; 0 returns at once. */
  handlerTime: number;
  deletes: boolean;
}

export interface WorkReport {
  /** How often each task was handled, by its `n`. */
  seen: Uint8Array;
  /** Milliseconds of CPU between the word to begin and that to end. */
  cpu: number;
  /** The most memory that the process held at a time meanwhile, in bytes. */
  peakMemory: number;
}

const progressInterval = 10;

/** A worker, from its start until it is told to end. */
export async function work(input: WorkInput, channel: Channel): Promise<WorkReport> {
  await warmUp(input);
  const side = await loadSide(input.side);
  const seen = new Uint8Array(input.tasks);
  let handled = 0;
  let told = 0;
  const tell = () => {
    if (handled > told) channel.progress(handled);
    told = handled;
  };
  // Not the kernel's own maximum: it is handed down from the process that forked this one.
  let peakMemory = 0;
  const sample = () => {
    peakMemory = Math.max(peakMemory, process.memoryUsage.rss());
  };
  const count = (n: number) => {
    seen[n]!++;
    if (++handled === 1) tell();
  };
  const consumer = await side.openConsumer(input.url, { ...input, handle: handler(count, input.handlerTime) });
  await channel.ready();

  const before = process.cpuUsage();
  const timer = setInterval(() => {
    tell();
    sample();
  }, progressInterval);
  await consumer.start();
  await channel.ended;
  clearInterval(timer);
  const { user, system } = process.cpuUsage(before);
  sample();
  await consumer.stop();
  return { seen, cpu: (user + system) / 1_000, peakMemory };
}

async function warmUp({ side: name, tuning, warmUp, handlerTime, deletes }: WorkInput): Promise<void> {
  if (warmUp.tasks === 0) return;
  const side = await loadSide(name);
  let handled = 0;
  const handle = handler(() => handled++, handlerTime);
  const consumer = await side.openConsumer(warmUp.url, { tuning, handle, deletes });
  await consumer.start();
  while (handled < warmUp.tasks) await pause(10);
  await consumer.stop();
}

function handler(count: (n: number) => void, time: number): Handle {
  if (time === 0) {
    return (n) => {
      count(n);
      return undefined;
    };
  }
  return async (n) => {
    await pause(time);
    count(n);
  };
}
