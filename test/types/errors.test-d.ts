import {
  ConflictError,
  LeaseExpiredError,
  OptionsError,
  PayloadError,
  PgqueueError,
  SchemaError,
  StaleClaimError,
  TimeoutError,
} from "pgqueue";
import { assertType, expectTypeOf, test } from "vitest";

test("each error is a PgqueueError with a code and what it carries", () => {
  const error: unknown = null;
  if (error instanceof PgqueueError) expectTypeOf(error.code).toEqualTypeOf<string>();
  if (error instanceof OptionsError) {
    assertType<"PGQUEUE_OPTIONS">(error.code);
    expectTypeOf(error.field).toEqualTypeOf<string>();
    expectTypeOf(error.value).toBeUnknown();
  }
  if (error instanceof PayloadError) {
    assertType<"PGQUEUE_PAYLOAD">(error.code);
    expectTypeOf(error.path).toEqualTypeOf<string>();
    expectTypeOf(error.issues).toEqualTypeOf<readonly string[]>();
  }
  if (error instanceof StaleClaimError) {
    assertType<"PGQUEUE_STALE_CLAIM">(error.code);
    expectTypeOf(error.taskId).toEqualTypeOf<number>();
  }
  if (error instanceof LeaseExpiredError) {
    assertType<"PGQUEUE_LEASE_EXPIRED">(error.code);
    expectTypeOf(error.queue).toEqualTypeOf<string>();
  }
  if (error instanceof TimeoutError) {
    assertType<"PGQUEUE_TIMEOUT">(error.code);
    expectTypeOf(error.timeout).toEqualTypeOf<number>();
  }
  if (error instanceof SchemaError) {
    assertType<"PGQUEUE_SCHEMA">(error.code);
    expectTypeOf(error.missing).toEqualTypeOf<string>();
  }
  if (error instanceof ConflictError) assertType<"PGQUEUE_CONFLICT">(error.code);
  // @ts-expect-error it is what the others extend
  new PgqueueError("x");
  // @ts-expect-error what it is about is read only
  if (error instanceof OptionsError) error.field = "x";
});
