import { beforeEach, describe, expect, test } from "vitest";
import { KeptPlan } from "../../src/worker/kept-plan.ts";

const minute = 60_000;

describe("a kept plan", () => {
  let now: number;
  let plan: KeptPlan;
  beforeEach(() => {
    now = 0;
    plan = new KeptPlan(() => now);
  });
  const caughtUp = (took: number) => plan.answered({ took, prepared: false, isFilled: false });

  test("is not wanted by the first claim", () => {
    expect(plan.isWanted).toBe(false);
  });

  test("is wanted once a claim was not filled, until one is", () => {
    caughtUp(2);
    expect(plan.isWanted).toBe(true);
    plan.answered({ took: 1, prepared: true, isFilled: false });
    expect(plan.isWanted).toBe(true);
    plan.answered({ took: 1, prepared: true, isFilled: true });
    expect(plan.isWanted).toBe(false);
    plan.answered({ took: 20, prepared: false, isFilled: true });
    expect(plan.isWanted).toBe(false);
    caughtUp(2);
    expect(plan.isWanted).toBe(true);
  });

  const kept = (...times: number[]) => {
    for (const took of times) plan.answered({ took, prepared: true, isFilled: false });
  };

  test("is not wanted for a minute after it was much slower than a planned claim twice in a row", () => {
    caughtUp(10);
    kept(30, 30, 30.1, 2, 30.1);
    expect(plan.isWanted).toBe(true);
    kept(30.1);
    expect(plan.isWanted).toBe(false);
    now = minute - 1;
    expect(plan.isWanted).toBe(false);
    now = minute;
    expect(plan.isWanted).toBe(true);
    kept(31);
    expect(plan.isWanted).toBe(true);
    kept(31);
    expect(plan.isWanted).toBe(false);
  });

  test("is not wanted for a minute after a claim failed, which may have been canceled for being slow", () => {
    caughtUp(2);
    plan.failed();
    caughtUp(2);
    expect(plan.isWanted).toBe(false);
    now = minute;
    expect(plan.isWanted).toBe(true);
  });

  test("is left out now and then, to know how long a planned claim takes by now", () => {
    caughtUp(200);
    kept(...Array(49).fill(1));
    expect(plan.isWanted).toBe(true);
    kept(1);
    expect(plan.isWanted).toBe(false);
    caughtUp(2);
    kept(300, 300);
    expect(plan.isWanted).toBe(false);
  });

  test("is compared with planned claims that were not filled, since a full one takes longer", () => {
    caughtUp(2);
    plan.answered({ took: 300, prepared: false, isFilled: true });
    kept(15, 15);
    expect(plan.isWanted).toBe(false);
  });
});
