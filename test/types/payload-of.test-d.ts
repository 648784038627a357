import { defineJob, defineTicker, type Handler, type PayloadOf } from "pgqueue";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

test("the payload of a spec's handler is the output of its schema", () => {
  const dated = defineJob({
    queue: "dated",
    payload: z.object({ at: z.string().transform((text) => new Date(text)) }),
  });
  const ticker = defineTicker({
    queue: "sync",
    key: "main",
    every: "5m",
    payload: v.object({ cursor: v.number() }),
    initialPayload: { cursor: 0 },
  });
  expectTypeOf<PayloadOf<typeof dated>>().toEqualTypeOf<{ at: Date }>();
  expectTypeOf<PayloadOf<typeof ticker>>().toEqualTypeOf<{ cursor: number }>();
  const handler: Handler<PayloadOf<typeof dated>> = (job) => void job.payload.at.getTime();
  expectTypeOf(handler).parameter(0).toHaveProperty("payload");
});
