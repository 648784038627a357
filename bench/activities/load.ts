// Each only where it is asked for, so that a measured process holds no code of another side.
const loaders = {
  claim: async () => (await import("./claim.ts")).claim,
  enqueue: async () => (await import("./enqueue.ts")).enqueue,
  fill: async () => (await import("./fill.ts")).fill,
  latency: async () => (await import("./latency.ts")).latency,
  work: async () => (await import("./work.ts")).work,
};

export type ActivityName = keyof typeof loaders;
export type ActivityOf<Name extends ActivityName> = Awaited<ReturnType<(typeof loaders)[Name]>>;

/** What a measured process may do, by name. */
export function loadActivity<Name extends ActivityName>(name: Name): Promise<ActivityOf<Name>> {
  return loaders[name]() as Promise<ActivityOf<Name>>;
}
