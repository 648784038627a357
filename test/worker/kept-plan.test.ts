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
  const planned = (took: number, isFilled = false) => plan.answered({ took, plan: undefined, tasks: 0, isFilled });

  test("is not wanted by the first claim", () => {
    expect(plan.wanted).toBe(undefined);
  });

  test("is wanted once a claim was not filled, until one is", () => {
    planned(2);
    expect(plan.wanted).toBe(0);
    kept(1);
    expect(plan.wanted).toBe(0);
    plan.answered({ took: 1, plan: 0, tasks: 0, isFilled: true });
    expect(plan.wanted).toBe(undefined);
    planned(20, true);
    expect(plan.wanted).toBe(undefined);
    planned(2);
    expect(plan.wanted).toBe(0);
  });

  const kept = (...times: number[]) => {
    for (const took of times) plan.answered({ took, plan: 0, tasks: 0, isFilled: false });
  };

  test("is not wanted for a minute after it was much slower than a planned claim twice in a row", () => {
    planned(10);
    kept(30, 30, 30.1, 2, 30.1);
    expect(plan.wanted).toBe(0);
    kept(30.1);
    expect(plan.wanted).toBe(undefined);
    now = minute - 1;
    expect(plan.wanted).toBe(undefined);
    now = minute;
    expect(plan.wanted).toBe(0);
    kept(31);
    expect(plan.wanted).toBe(0);
    kept(31);
    expect(plan.wanted).toBe(undefined);
  });

  test("is not wanted either after it was slow each other time, as where it is that of one connection of two", () => {
    planned(10);
    kept(500, 1, 500, 1);
    expect(plan.wanted).toBe(0);
    kept(500);
    expect(plan.wanted).toBe(undefined);
  });

  test("is compared with what a planned claim takes that had not to wait for its connection", () => {
    planned(2);
    planned(5_000);
    kept(40, 40);
    expect(plan.wanted).toBe(undefined);
  });

  test("is compared with a guess where even the first claim had to wait", () => {
    planned(5_000);
    kept(300, 300);
    expect(plan.wanted).toBe(undefined);
  });

  test("is not wanted for a minute after a claim failed, which may have been canceled for being slow", () => {
    planned(2);
    plan.failed();
    planned(2);
    expect(plan.wanted).toBe(undefined);
    now = minute;
    expect(plan.wanted).toBe(0);
  });

  test("is left out now and then, to know how long a planned claim takes by now", () => {
    planned(200);
    kept(...Array(49).fill(1));
    expect(plan.wanted).toBe(0);
    kept(1);
    expect(plan.wanted).toBe(undefined);
    planned(2);
    kept(300, 300);
    expect(plan.wanted).toBe(undefined);
  });

  test("is compared with planned claims that were not filled, since a full one takes longer", () => {
    planned(2);
    planned(300, true);
    kept(15, 15);
    expect(plan.wanted).toBe(undefined);
  });

  test("is a new one whenever the tasks that were claimed have doubled, however they were", () => {
    const later = (tasks: number) => {
      plan.answered({ took: 1, plan: undefined, tasks, isFilled: true });
      planned(1);
      return plan.wanted;
    };
    expect([later(31), later(1), later(63), later(1)]).toEqual([0, 1, 1, 2]);
    expect([later(1_000), later(100_000)]).toEqual([5, 11]);
    expect([later(10_000_000), later(10_000_000_000)]).toEqual([16, 16]);
  });
});
