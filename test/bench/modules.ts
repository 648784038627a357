/**
 * A file of the benchmark. Not by a name that TypeScript follows: the benchmark is a project of its own, for a newer Node.
 */
export async function bench(file: string) {
  return import(new URL(`../../bench/${file}`, import.meta.url).href);
}
