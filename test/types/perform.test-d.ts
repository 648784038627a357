import type { ExtraSelect, Handler, PayloadOf } from "pgqueue";
import { type PerformOptions, perform } from "pgqueue/testing";
import { describe, test } from "vitest";
import { payload, receipt, type ShopColumns, type tasks } from "./shop.ts";

const plain: Handler<PayloadOf<typeof receipt>> = () => {};
const own: Handler<PayloadOf<typeof receipt>, ExtraSelect<typeof tasks>> = () => {};
const columns: ShopColumns = { tenantId: "t", orderId: null, note: null };

describe("perform", () => {
  test("wants the columns that the handler's type has", async () => {
    await perform(receipt, own, payload, { columns, attempt: 2 });
    // @ts-expect-error the handler reads columns
    await perform(receipt, own, payload);
    // @ts-expect-error the handler reads columns
    await perform(receipt, own, payload, { attempt: 2 });
    // @ts-expect-error one of them is missing
    await perform(receipt, own, payload, { columns: { tenantId: "t" } });
  });

  test("wants none where it has none", async () => {
    await perform(receipt, plain, payload);
    await perform(receipt, plain, payload, { attempt: 2 });
    await perform(receipt, (job) => void job.payload.to, payload, {});
    // @ts-expect-error no option of that name
    await perform(receipt, plain, payload, { attempts: 2 });
  });

  test("refuses another payload", async () => {
    // @ts-expect-error orderId is a number
    await perform(receipt, plain, { orderId: "1", to: "x" });
    const options: PerformOptions = { maxRetries: 0 };
    await perform(receipt, plain, payload, options);
  });
});
