import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { benchmarkJob, pgqueue } from "../sides/pgqueue.ts";
import type { Channel } from "./channel.ts";

interface ClaimInput {
  side: "pgqueue";
  url: string;
  /** Tasks of one claim. */
  limit: number;
  warmUp: number;
  claims: number;
}

/** How long each of many claims by pgqueue's own statement takes, in milliseconds. */
export async function claim(input: ClaimInput, channel: Channel): Promise<number[]> {
  const client = postgres(input.url, { max: 1 });
  const db = drizzle({ client });
  await channel.ready();
  const times: number[] = [];
  for (let i = 0; i < input.warmUp + input.claims; i++) {
    const began = performance.now();
    const claimed = await pgqueue.claim(db, benchmarkJob, { limit: input.limit });
    times.push(performance.now() - began);
    if (claimed.length !== input.limit) throw new Error(`a claim of ${input.limit} took ${claimed.length}`);
  }
  await client.end();
  return times.slice(input.warmUp);
}
