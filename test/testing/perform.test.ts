import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  defineJob,
  done,
  fail,
  type Job,
  OptionsError,
  PayloadError,
  retry,
  StaleClaimError,
  skip,
} from "../../src/index.ts";
import { perform } from "../../src/testing/index.ts";
import { daily, mail } from "./shop.ts";

const dated = defineJob({
  queue: "dated",
  payload: z.object({ at: z.string().transform((text) => new Date(text)) }),
  encode: ({ at }) => ({ at: at.toISOString() }),
  maxRetries: 1,
});

describe("perform", () => {
  test("gives a handler what a worker would give it", async () => {
    let seen: Job<unknown> | undefined;
    const { result, status, delay } = await perform(
      mail,
      (job, ctx) => {
        seen = structuredClone(job);
        expect(ctx.signal.aborted).toBe(false);
        expect(ctx.workerId).toEqual(expect.any(String));
        return done({ sent: 1 });
      },
      { to: "ada" },
    );
    expect(seen).toEqual({
      id: expect.any(Number),
      queue: "mail",
      key: null,
      payload: { to: "ada", n: 1 },
      attempt: 1,
      maxRetries: 3,
      runAt: expect.any(Date),
      createdAt: expect.any(Date),
      meta: null,
      columns: {},
    });
    expect({ result, status, delay }).toEqual({ result: done({ sent: 1 }), status: "completed", delay: null });
  });

  test("takes another try, retries, meta, columns and a signal", async () => {
    const quit = new AbortController();
    quit.abort(new Error("stop"));
    const options = {
      attempt: 3,
      maxRetries: 9,
      meta: { trace: "t" },
      columns: { tenant: "acme" },
      signal: quit.signal,
    };
    await perform(
      mail,
      (job, { signal }) => {
        expect(job).toMatchObject({ attempt: 3, maxRetries: 9, meta: { trace: "t" }, columns: { tenant: "acme" } });
        expect(signal.aborted).toBe(true);
      },
      { to: "ada" },
      options,
    ).then(({ result }) => expect(result).toEqual(done()));
  });

  test.each([
    ["nothing", () => undefined, 1, { result: done(), status: "completed", delay: null }],
    ["retry", () => retry("x"), 1, { result: retry("x"), status: "pending", delay: 60_000 }],
    ["retry at its second try", () => retry("x"), 2, { result: retry("x"), status: "pending", delay: 120_000 }],
    ["retry at its last try", () => retry("x"), 4, { result: retry("x"), status: "failed", delay: null }],
    ["fail", () => fail("x"), 1, { result: fail("x"), status: "failed", delay: null }],
    ["skip", () => skip("x"), 1, { result: skip("x"), status: "failed", delay: null }],
  ])("says what %s makes of a job", async (_, handler, attempt, expected) => {
    expect(await perform(mail, handler, { to: "a" }, { attempt })).toEqual({ ...expected, payload: { to: "a" } });
  });

  test("says that what is thrown is a retry with that error", async () => {
    const error = new Error("the mail server is away");
    const { result } = await perform(mail, () => Promise.reject(error), { to: "a" });
    expect(result).toEqual({ type: "retry", error });
    expect((result as { error: unknown }).error).toBe(error);
  });

  test("keeps a changed payload as a worker would", async () => {
    const turn = async (result: ReturnType<typeof done>) =>
      (
        await perform(
          daily,
          (job) => {
            job.payload.page++;
            return result;
          },
          { page: 1 },
        )
      ).payload;
    expect(await turn(done())).toEqual({ page: 2 });
    expect(await turn(skip("x"))).toEqual({ page: 2 });
    expect(await turn(retry("x"))).toEqual({ page: 1 });
    expect(await turn(fail("x"))).toEqual({ page: 1 });
  });

  test("goes through the schema, and back by encode", async () => {
    const { payload } = await perform(
      dated,
      (job) => {
        expect(job.payload.at).toBeInstanceOf(Date);
        job.payload.at = new Date("2031-01-01T00:00:00Z");
      },
      { at: "2030-01-01T00:00:00Z" },
    );
    expect(payload).toEqual({ at: "2031-01-01T00:00:00.000Z" });
  });

  test("remembers what ctx.finalize was told, whatever it was told it in", async () => {
    const tx = { fake: true } as never;
    const ticked = await perform(
      daily,
      async (job, ctx) => {
        job.payload.page = 7;
        await ctx.finalize(tx, done({ pages: 7 }));
        job.payload.page = 8;
      },
      { page: 1 },
    );
    expect(ticked).toEqual({ result: done({ pages: 7 }), status: "pending", delay: 86_400_000, payload: { page: 7 } });
  });

  test("stays with what ctx.finalize was told, whatever is thrown or returned afterwards", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const error = new Error("the cache is away");
    const completed = { result: done({ sent: 1 }), status: "completed", delay: null, payload: { to: "a" } };
    const thrown = await perform(
      mail,
      async (_, ctx) => {
        await ctx.finalize({} as never, done({ sent: 1 }));
        throw error;
      },
      { to: "a" },
    );
    expect(thrown).toEqual(completed);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("threw after ctx.finalize"), error);
    const returned = await perform(
      mail,
      async (_, ctx) => {
        await ctx.finalize({} as never, done({ sent: 1 }));
        return retry("x");
      },
      { to: "a" },
    );
    expect(returned).toEqual(completed);
    warn.mockRestore();
  });

  test("makes what cannot be stored a retry, as a worker does", async () => {
    const output = await perform(mail, () => done(new Date()), { to: "a" });
    expect(output).toMatchObject({ result: { type: "retry", error: { name: "PayloadError" } }, status: "pending" });
    const payload = await perform(daily, (job) => void Object.assign(job.payload, { page: "seven" }), { page: 1 });
    expect(payload).toMatchObject({ result: { type: "retry", error: { name: "PayloadError" } }, payload: { page: 1 } });
  });

  test("leaves the payload that it is given alone", async () => {
    const given = { page: 1 };
    await perform(daily, (job) => void job.payload.page++, given);
    expect(given).toEqual({ page: 1 });
  });

  test("warns of what a worker warns of", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    await perform(mail, () => "sent" as never, { to: "a" });
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("no result"));
    warn.mockRestore();
  });

  test("refuses a payload that could not be enqueued, and wrong options", async () => {
    const nothing = () => {};
    await expect(perform(mail, nothing, { to: 1 } as never)).rejects.toThrow(PayloadError);
    await expect(perform(dated, nothing, { at: new Date() } as never)).rejects.toThrow(PayloadError);
    await expect(perform(mail, nothing, { to: "a" }, { attempt: 0 })).rejects.toThrow(/perform\.attempt/);
    await expect(perform(mail, nothing, { to: "a" }, { tries: 1 } as never)).rejects.toThrow(/perform\.tries/);
    await expect(perform(mail, undefined as never, { to: "a" })).rejects.toThrow(/perform\.handler/);
    await expect(perform({} as never, nothing, {} as never)).rejects.toThrow(OptionsError);
  });

  test("knows the key of a ticker", async () => {
    const keys: unknown[] = [];
    await perform(daily, (job) => void keys.push(job.key), { page: 1 });
    await perform(mail, (job) => void keys.push(job.key), { to: "a" });
    expect(keys).toEqual(["report", null]);
  });

  test("refuses of ctx what a worker refuses", async () => {
    const tx = {} as never;
    await perform(
      daily,
      async (_, ctx) => {
        await ctx.finalize(tx, done());
        await expect(ctx.finalize(tx, fail("again"))).rejects.toThrow(StaleClaimError);
      },
      { page: 1 },
    ).then(({ result }) => expect(result).toEqual(done()));
    const wrong = await perform(daily, (_, ctx) => ctx.finalize(tx, { type: "nope" } as never), { page: 1 });
    expect(wrong.result).toMatchObject({ type: "retry", error: { name: "OptionsError" } });
    const long = await perform(mail, (_, ctx) => ctx.extendLease("garbage" as never), { to: "a" });
    expect(long.result).toMatchObject({ type: "retry", error: { name: "OptionsError" } });
    await expect(perform(mail, () => {}, { to: "a" }, { meta: { at: new Date() } })).rejects.toThrow(PayloadError);
  });
});
