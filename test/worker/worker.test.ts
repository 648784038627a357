import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { createWorker } from "../../src/worker/create.ts";
import { createDatabase, type TestDatabase } from "../postgres/database.ts";
import { PostgresProxy } from "../postgres/proxy.ts";
import { job, pgqueue, rowOf, ticker } from "../queries/jobs.ts";
import { observe, until } from "./observed.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ migrated: true });
});
afterAll(() => database.end());

const nothing = () => {};

describe("createWorker refuses", () => {
  test.each<[string, unknown]>([
    ["db", undefined],
    ["db", {}],
    ["db", "postgres://localhost"],
    ["pgqueue", undefined],
    ["pgqueue", {}],
    ["pgqueue", () => {}],
    ["concurrency", 0],
    ["concurrency", -1],
    ["concurrency", 1.5],
    ["concurrency", 10_001],
    ["concurrency", Number.NaN],
    ["concurrency", "10"],
    ["workerId", ""],
    ["workerId", "a\0b"],
    ["workerId", 7],
    ["listen", "yes"],
    ["reapInterval", 0],
    ["reapInterval", "5"],
    ["reapInterval", -1],
    ["reapInterval", Number.POSITIVE_INFINITY],
    ["onEvent", "print"],
    ["pollInterval", "5s"],
  ])("%s: %s", (field, value) => {
    const options = { db: database.db, pgqueue, [field]: value };
    expect(() => createWorker(options as never)).toThrow(
      expect.objectContaining({ name: "OptionsError", field: `createWorker.${field}` }),
    );
  });

  test("anything but options", () => {
    for (const options of [undefined, null, "options", 1]) {
      expect(() => createWorker(options as never)).toThrow(
        expect.objectContaining({ name: "OptionsError", field: "createWorker" }),
      );
    }
  });
});

test("a worker has an id of its own, or the one it is given", () => {
  const ids = Array.from({ length: 3 }, () => createWorker({ db: database.db, pgqueue }).workerId);
  expect(new Set(ids).size).toBe(3);
  expect(ids[0]).toContain(String(process.pid));
  expect(createWorker({ db: database.db, pgqueue, workerId: "batch-1" }).workerId).toBe("batch-1");
});

describe("register", () => {
  const worker = () => createWorker({ db: database.db, pgqueue });
  const refusal = (field: string) => expect.objectContaining({ name: "OptionsError", field: `register.${field}` });

  test("refuses two specs that would take each other's tasks", () => {
    const mail = job({ queue: "mail" });
    expect(() => worker().register(mail, nothing).register(mail, nothing)).toThrow(refusal("spec"));
    expect(() =>
      worker()
        .register(mail, nothing)
        .register(job({ queue: "mail" }), nothing),
    ).toThrow(refusal("spec"));
    const sync = ticker({ queue: "sync", key: "main" });
    expect(() =>
      worker()
        .register(sync, nothing)
        .register(ticker({ queue: "sync", key: "main", every: "1s" }), nothing),
    ).toThrow(/ticker \\?"main\\?" of \\?"sync\\?"/);
  });

  test("takes jobs and tickers of one queue, and tickers of several keys", () => {
    worker()
      .register(job({ queue: "sync" }), nothing)
      .register(ticker({ queue: "sync", key: "main" }), nothing)
      .register(ticker({ queue: "sync", key: "other" }), nothing)
      .register(ticker({ queue: "sync2", key: "main" }), nothing);
  });

  test("refuses what is no spec and no handler", () => {
    for (const spec of [undefined, null, "mail", {}, { queue: "mail" }, nothing]) {
      expect(() => worker().register(spec as never, nothing)).toThrow(refusal("spec"));
    }
    for (const handler of [undefined, null, "mail", {}]) {
      expect(() => worker().register(job(), handler as never)).toThrow(refusal("handler"));
    }
  });

  test("refuses a spec once the worker was started, drained or stopped", async () => {
    const conflict = expect.objectContaining({ name: "ConflictError" });
    const started = (await observe(database.db).on(job(), nothing).start()).worker;
    expect(() => started.register(job(), nothing)).toThrow(conflict);
    const drained = observe(database.db).on(job(), nothing).worker;
    await drained.drain();
    expect(() => drained.register(job(), nothing)).toThrow(conflict);
    const stopped = worker();
    await stopped.stop();
    expect(() => stopped.register(job(), nothing)).toThrow(conflict);
  });
});

describe("start, run and drain", () => {
  test("want a handler", async () => {
    for (const call of ["start", "run", "drain"] as const) {
      await expect(createWorker({ db: database.db, pgqueue })[call]()).rejects.toThrow(
        expect.objectContaining({ name: "OptionsError" }),
      );
    }
  });

  test("start only once", async () => {
    const { worker } = await observe(database.db).on(job(), nothing).start();
    for (const call of ["start", "run", "drain"] as const) {
      await expect(worker[call]()).rejects.toThrow(expect.objectContaining({ name: "ConflictError" }));
    }
  });

  test("do not start a second time while the first is under way", async () => {
    const { worker } = observe(database.db).on(job(), nothing);
    const [first, second] = await Promise.allSettled([worker.start(), worker.start()]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ reason: { name: "ConflictError" } });
  });

  test("want a server that is there: a drain, which would else never end", async () => {
    const away = drizzle({ client: postgres("postgres://localhost:1/none", { max: 1 }) });
    const { worker } = observe(away).on(job(), nothing);
    await expect(worker.drain()).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  test("are refused while the worker is being drained", async () => {
    const { worker } = observe(database.db).on(job(), nothing);
    const drained = worker.drain();
    for (const call of ["start", "run", "drain"] as const) {
      await expect(worker[call]()).rejects.toThrow(expect.objectContaining({ name: "ConflictError" }));
    }
    expect(await drained).toBe(0);
    expect(await worker.drain()).toBe(0);
  });

  test("are refused after a stop", async () => {
    const { worker } = observe(database.db).on(job(), nothing);
    await worker.stop();
    for (const call of ["start", "run", "drain"] as const) {
      await expect(worker[call]()).rejects.toThrow(expect.objectContaining({ name: "ConflictError" }));
    }
  });

  test("tell of a missing table, and leave nothing running", async () => {
    const empty = await createDatabase();
    const { worker } = observe(empty.db).on(job(), nothing);
    await expect(worker.start()).rejects.toThrow(expect.objectContaining({ name: "SchemaError" }));
    await worker.stop();
    await expect(observe(empty.db).on(job(), nothing).worker.run()).rejects.toThrow("drizzle-kit generate");
    await empty.end();
  });
});

describe("run", () => {
  test("blocks until the signal fires, and drains first", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, {});
    const quit = new AbortController();
    let isOver = false;
    const { worker } = observe(database.db).on(spec, async () => {
      quit.abort();
      await new Promise((resolve) => setTimeout(resolve, 50));
      isOver = true;
    });
    await worker.run({ signal: quit.signal });
    expect(isOver).toBe(true);
    expect((await rowOf(database.db, id)).status).toBe("completed");
  });

  test("ends with stop", async () => {
    const { worker } = observe(database.db).on(job(), nothing);
    const running = worker.run();
    await worker.stop();
    await running;
  });

  test("does nothing when the signal has fired before", async () => {
    const spec = job();
    const { id } = await pgqueue.enqueue(database.db, spec, {});
    await observe(database.db).on(spec, nothing).worker.run({ signal: AbortSignal.abort() });
    expect(await rowOf(database.db, id)).toMatchObject({ status: "pending", claims: 0 });
  });

  test("leaves no listener on the signal", async () => {
    const quit = new AbortController();
    const remove = vi.spyOn(quit.signal, "removeEventListener");
    const { worker } = observe(database.db).on(job(), nothing);
    const running = worker.run({ signal: quit.signal });
    await worker.stop();
    await running;
    expect(remove).toHaveBeenCalledOnce();
  });
});

describe("stop", () => {
  test("gives the same promise each time", async () => {
    const { worker } = await observe(database.db).on(job(), nothing).start();
    const first = worker.stop({ timeout: "1s" });
    expect(worker.stop()).toBe(first);
    await first;
    expect(worker.stop({ timeout: 0 })).toBe(first);
  });

  test("is no trouble before start", async () => {
    await createWorker({ db: database.db, pgqueue }).stop();
  });

  test.each<[string, unknown]>([
    ["stop.timeout", { timeout: -1 }],
    ["stop.timeout", { timeout: "5" }],
    ["stop.timeout", { timeout: Number.NaN }],
    ["stop.after", { after: "5s" }],
    ["stop", null],
    ["stop", "5s"],
  ])("refuses %s of %o, and does not stop", async (field, options) => {
    const { worker } = observe(database.db).on(job(), nothing);
    await expect(worker.stop(options as never)).rejects.toThrow(
      expect.objectContaining({ name: "OptionsError", field }),
    );
    await worker.start();
  });
});

describe("while the database says nothing at all", () => {
  const silent = async () => {
    const proxy = await PostgresProxy.create(inject("postgresUrl"));
    const client = postgres(proxy.url(database.name), { max: 2, fetch_types: false, onnotice: () => {} });
    return { proxy, client, db: drizzle(client), end: () => Promise.all([client.end({ timeout: 0 }), proxy.close()]) };
  };

  test("run and stop end although start never did", async () => {
    const { proxy, client, db, end } = await silent();
    await client`select 1`;
    proxy.blackhole();
    const { worker } = observe(db, { tolerate: ["error"] }).on(job(), nothing);
    const running = worker.run();
    await worker.stop({ timeout: 50 });
    await running;
    await end();
  });

  test("run and stop end although a claim is never answered", async () => {
    const { proxy, db, end } = await silent();
    const spec = job({ pollInterval: 20, finalizeBuffer: 50 });
    const observed = observe(db, { tolerate: ["error"], listen: false }).on(spec, nothing);
    const running = observed.worker.run();
    await pgqueue.enqueue(database.db, spec, {});
    await observed.seen("settled");
    proxy.blackhole();
    const began = performance.now();
    await observed.worker.stop({ timeout: 50 });
    await running;
    expect(performance.now() - began).toBeLessThan(5_000);
    await end();
  });

  test("stop ends although LISTEN is never answered", async () => {
    const { proxy, db, end } = await silent();
    const { worker } = observe(db, { tolerate: ["error"] }).on(job({ finalizeBuffer: 50 }), nothing);
    // The first connection carries the statements of start, the next one is for LISTEN alone.
    const running = worker.run();
    await until(() => proxy.connections === 2);
    proxy.blackhole();
    await worker.stop({ timeout: 50 });
    await running;
    await end();
  });
});

describe("onEvent", () => {
  test.each<[string, () => unknown]>([
    [
      "that throws",
      () => {
        throw new Error("no ear for it");
      },
    ],
    ["that rejects", () => Promise.reject(new Error("no ear for it"))],
  ])("%s does no harm", async (_, onEvent) => {
    const print = vi.spyOn(console, "error").mockImplementation(nothing);
    const spec = job({ retryDelay: 0 });
    await pgqueue.enqueueMany(database.db, spec, [{ payload: 1 }, { payload: 2 }]);
    const worker = createWorker({ db: database.db, pgqueue, onEvent: onEvent as () => void });
    let runs = 0;
    worker.register(spec, () => {
      if (++runs === 1) throw new Error("first");
    });
    expect(await worker.drain()).toBe(3);
    await worker.stop();
    await until(() => print.mock.calls.length === 3);
    expect(print.mock.calls[0]).toEqual(["pgqueue: onEvent threw:", new Error("no ear for it")]);
    print.mockRestore();
  });

  test("left out, faults are printed", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(nothing);
    const spec = job();
    await pgqueue.enqueue(database.db, spec, {});
    const worker = createWorker({ db: database.db, pgqueue });
    worker.register(spec, (() => "junk") as never);
    await worker.drain();
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("returned something that is no result"));
    warn.mockRestore();
  });
});

describe("drain", () => {
  test("runs what is due until nothing is, over all queues", async () => {
    const [one, two] = [job(), job()];
    const seen: string[] = [];
    const { worker } = observe(database.db)
      .on(one, async ({ payload }) => {
        seen.push(`one ${payload}`);
        if (payload < 3) await pgqueue.enqueue(database.db, two, payload + 1);
      })
      .on(two, async ({ payload }) => {
        seen.push(`two ${payload}`);
        await pgqueue.enqueue(database.db, one, payload + 1);
      });
    await pgqueue.enqueue(database.db, one, 0);
    expect(await worker.drain()).toBe(5);
    expect(seen).toEqual(["one 0", "two 1", "one 2", "two 3", "one 4"]);
    expect(await worker.drain()).toBe(0);
    await pgqueue.enqueue(database.db, one, 4);
    expect(await worker.drain()).toBe(1);
  });

  test("leaves what is due later, retries too", async () => {
    const spec = job({ retryDelay: "1h" });
    await pgqueue.enqueueMany(database.db, spec, [{ payload: 1 }, { payload: 2, delay: "1h" }]);
    const { worker } = observe(database.db).on(spec, () => {
      throw new Error("later");
    });
    expect(await worker.drain()).toBe(1);
  });

  test("runs more than its concurrency, no more than that at once", async () => {
    const spec = job();
    await pgqueue.enqueueMany(
      database.db,
      spec,
      Array.from({ length: 40 }, (_, i) => ({ payload: i })),
    );
    let working = 0;
    let most = 0;
    const { worker } = observe(database.db, { concurrency: 3 }).on(spec, async () => {
      most = Math.max(most, ++working);
      await new Promise(setImmediate);
      working--;
    });
    expect(await worker.drain()).toBe(40);
    expect(most).toBe(3);
  });

  test("creates tickers and runs them once", async () => {
    const spec = ticker();
    const { worker } = observe(database.db).on(spec, nothing);
    expect(await worker.drain()).toBe(1);
    expect(await worker.drain()).toBe(0);
  });
});
