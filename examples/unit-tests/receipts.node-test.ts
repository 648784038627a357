import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
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
import { checkOut } from "./checkout.ts";
import { AddressRefused, registerHandlers, type SendMail, sendsReceipt } from "./handlers.ts";
import { askForReview, pgqueue, sendReceipt } from "./queue.ts";
import * as schema from "./schema.ts";

// One database for all tests: each runs in a transaction that is rolled back.
let database: TestDatabase<typeof schema>;
before(async () => {
  database = await createTestDatabase({ schema });
});
after(() => database.close());

const paid = async () => {};
const declined = async () => {
  throw new Error("the card was declined");
};

test("a receipt is a mail", async () => {
  const sendMail = mock.fn<SendMail>(async () => {});
  const { result } = await perform(sendReceipt, sendsReceipt(sendMail), { orderId: 7, to: "ada@example.com" });
  assert.deepEqual(result, done());
  assert.deepEqual(sendMail.mock.calls[0]?.arguments, ["ada@example.com", "Thank you for order 7."]);
});

test("a refused address is not tried again", async () => {
  const refuse = async () => {
    throw new AddressRefused();
  };
  const { status } = await perform(sendReceipt, sendsReceipt(refuse), { orderId: 7, to: "nobody" });
  assert.equal(status, "failed");
});

test("a checkout enqueues the receipt", () =>
  rollBack(database.db, async (tx) => {
    const orderId = await checkOut(tx, { email: "ada@example.com", pay: paid });
    await expectEnqueued(tx, sendReceipt, { payload: { orderId, to: "ada@example.com" }, status: "pending" });
  }));

test("a declined card enqueues nothing", () =>
  rollBack(database.db, async (tx) => {
    await assert.rejects(checkOut(tx, { email: "ada@example.com", pay: declined }), /declined/);
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
    let tries = 0;
    const worker = createWorker({ db: tx, pgqueue, onEvent: () => {} });
    worker.register(
      sendReceipt,
      sendsReceipt(async () => {
        if (++tries <= 3) throw new Error("the mail server is away");
      }),
    );

    await pgqueue.enqueue(tx, sendReceipt, { orderId: 7, to: "ada@example.com" });
    const runs = await drain(worker, { until: "1h" });
    assert.deepEqual(
      runs.map(({ result }) => result),
      ["retry", "retry", "retry", "done"],
    );
    const seconds = runs.map((run) => (run.at.getTime() - runs[0]!.at.getTime()) / 1000);
    assert.deepEqual(seconds, [0, 30, 90, 180]);
    await expectEnqueued(tx, sendReceipt, { status: "completed", attempt: 4 });
  }));

test("the owner gets a report each day of January", () =>
  rollBack(database.db, async (tx) => {
    const sendMail = mock.fn<SendMail>(async () => {});
    const worker = createWorker({ db: tx, pgqueue, onEvent: () => {} });
    registerHandlers(worker, sendMail);

    const until = new Date("2027-01-31T23:59:59Z");
    const runs = await at(new Date("2027-01-01T06:00:00Z"), () => drain(worker, { until }));
    assert.equal(runs.length, 31);
    assert.deepEqual(runs.at(-1)!.at, new Date("2027-01-31T06:00:00Z"));
    assert.deepEqual(sendMail.mock.calls.at(-1)?.arguments, ["owner@example.com", "Report 31"]);
  }));
