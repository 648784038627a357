/**
 * A file of the benchmark. Not by a name that TypeScript follows: the benchmark is a project of its own, for a newer Node.
 */
export async function bench(file: string) {
  Object.assign(Promise, { withResolvers });
  return import(new URL(`../../bench/${file}`, import.meta.url).href);
}

/** As Node has it from 22 on. */
function withResolvers() {
  let settlers = {};
  const promise = new Promise((resolve, reject) => {
    settlers = { resolve, reject };
  });
  return { promise, ...settlers };
}
