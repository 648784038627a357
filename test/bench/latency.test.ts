import { expect, test, vi } from "vitest";
import { bench } from "./modules.ts";

vi.mock("../../bench/sides/load.ts", () => ({ loadSide: async () => side }));

const { latency } = await bench("activities/latency.ts");

/** A queue that calls the handler as `deliver` says, and keeps to itself what it throws. */
let side: { openConsumer(...args: unknown[]): unknown; openProducer(): unknown };

type Deliver = (n: number, handle: (n: number) => void) => void;

async function latenciesOf(deliver: Deliver, atStop = (_handle: (n: number) => void) => {}): Promise<number[]> {
  let handle = (_n: number) => {};
  side = {
    openConsumer: async (_url, options) => {
      handle = (n) => {
        try {
          (options as { handle(n: number): void }).handle(n);
        } catch {}
      };
      return { start: async () => {}, stop: async () => atStop(handle) };
    },
    openProducer: async () => ({
      enqueue: async ({ n }: { n: number }) => deliver(n, handle),
      close: async () => {},
    }),
  };
  const channel = { ready: async () => {}, progress: () => {}, ended: new Promise(() => {}) };
  return latency({ side: "pgqueue", url: "", tuning: "latency", warmUp: 1, samples: 3 }, channel);
}

test("latency is that of each task after the warm-up", async () => {
  const latencies = await latenciesOf((n, handle) => void setTimeout(handle, 20, n));
  expect(latencies).toHaveLength(3);
  for (const latency of latencies) expect(latency).toBeGreaterThan(15);
});

test("a task that is handled twice fails the measurement", async () => {
  const twice: Deliver = (n, handle) => {
    handle(n);
    if (n === 2) handle(n);
  };
  await expect(latenciesOf(twice)).rejects.toThrow("Task 2 was enqueued once, and handled 2 times.");
});

test("so does one that is handled again while the next is awaited", async () => {
  const late: Deliver = (n, handle) => {
    if (n === 2) handle(1);
    handle(n);
  };
  await expect(latenciesOf(late)).rejects.toThrow("Task 1 was handled while 2 was awaited.");
});

test("so does one that is handled again before the worker has stopped", async () => {
  const atStop = (handle: (n: number) => void) => handle(3);
  await expect(latenciesOf((n, handle) => handle(n), atStop)).rejects.toThrow("Task 3 was enqueued once");
});
