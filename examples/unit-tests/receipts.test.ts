import { createWorker, done } from "pgqueue";
import {
  at,
  createTestDatabase,
  drain,
  expectEnqueued,
  perform,
  refuteEnqueued,
  rollBack,
  type TestDatabase,
} from "pgqueue/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { checkOut } from "./checkout.ts";
import { AddressRefused, registerHandlers, type SendMail, sendsReceipt } from "./handlers.ts";
import { askForReview, pgqueue, sendReceipt } from "./queue.ts";
import * as schema from "./schema.ts";

// One database for all tests: each runs in a transaction that is rolled back.
let database: TestDatabase<typeof schema>;
beforeAll(async () => {
  database = await createTestDatabase({ schema });
}, 60_000);
afterAll(() => database.close());

const paid = async () => {};
const declined = async () => {
  throw new Error("the card was declined");
};

test("a receipt is a mail", async () => {
  const sendMail = vi.fn<SendMail>();
  const { result } = await perform(sendReceipt, sendsReceipt(sendMail), { orderId: 7, to: "ada@example.com" });
  expect(result).toEqual(done());
  expect(sendMail.mock.calls).toEqual([["ada@example.com", "Thank you for order 7."]]);
});

test("a refused address is not tried again", async () => {
  const sendMail = vi.fn<SendMail>().mockRejectedValue(new AddressRefused());
  const { status } = await perform(sendReceipt, sendsReceipt(sendMail), { orderId: 7, to: "nobody" });
  expect(status).toBe("failed");
});

test("a checkout enqueues the receipt", () =>
  rollBack(database.db, async (tx) => {
    const orderId = await checkOut(tx, { email: "ada@example.com", pay: paid });
    await expectEnqueued(tx, sendReceipt, { payload: { orderId, to: "ada@example.com" }, status: "pending" });
  }));

test("a declined card enqueues nothing", () =>
  rollBack(database.db, async (tx) => {
    await expect(checkOut(tx, { email: "ada@example.com", pay: declined })).rejects.toThrow("declined");
    await refuteEnqueued(tx, sendReceipt);
    await refuteEnqueued(tx, askForReview);
  }));

test("a review is asked for a week later", () =>
  rollBack(database.db, async (tx) => {
    await at(new Date("2027-02-01T12:00:00Z"), () => checkOut(tx, { email: "ada@example.com", pay: paid }));
    await expectEnqueued(tx, askForReview, { runAt: new Date("2027-02-08T12:00:00Z"), priority: 9 });
  }));

test("a receipt is sent once the mail server is back", () =>
  rollBack(database.db, async (tx) => {
    const sendMail = vi.fn<SendMail>();
    for (let i = 0; i < 3; i++) sendMail.mockRejectedValueOnce(new Error("the mail server is away"));
    const worker = createWorker({ db: tx, pgqueue, onEvent: () => {} });
    worker.register(sendReceipt, sendsReceipt(sendMail));

    await pgqueue.enqueue(tx, sendReceipt, { orderId: 7, to: "ada@example.com" });
    const runs = await drain(worker, { until: "1h" });
    expect(runs.map(({ result }) => result)).toEqual(["retry", "retry", "retry", "done"]);
    const seconds = runs.map((run) => (run.at.getTime() - runs[0]!.at.getTime()) / 1000);
    expect(seconds).toEqual([0, 30, 90, 180]);
    await expectEnqueued(tx, sendReceipt, { status: "completed", attempt: 4 });
  }));

test("the owner gets a report each day of January", () =>
  rollBack(database.db, async (tx) => {
    const sendMail = vi.fn<SendMail>();
    const worker = createWorker({ db: tx, pgqueue, onEvent: () => {} });
    registerHandlers(worker, sendMail);

    const until = new Date("2027-01-31T23:59:59Z");
    const runs = await at(new Date("2027-01-01T06:00:00Z"), () => drain(worker, { until }));
    expect(runs).toHaveLength(31);
    expect(runs.at(-1)!.at).toEqual(new Date("2027-01-31T06:00:00Z"));
    expect(sendMail).toHaveBeenLastCalledWith("owner@example.com", "Report 31");
  }));
