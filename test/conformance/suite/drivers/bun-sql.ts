import { drizzle } from "drizzle-orm/bun-sql";
import { type Database, type Driver, pooler } from "../driver.ts";

// The package of this name carries the program and no types.
const bun = "bun";

export const driver: Driver = {
  lacks: (mode) => ({
    listen: mode === "pooled" ? pooler : "Bun SQL cannot LISTEN",
    ...(mode === "prepared" ? {} : { generic: "plans are generic in the prepared cell" }),
    ...(mode === "pooled" ? { names: pooler } : {}),
  }),
  async open(url, mode) {
    const { SQL } = await import(bun);
    const client = new SQL({ url, prepare: mode !== "pooled" });
    return { db: drizzle({ client }) as unknown as Database, close: () => client.close({ timeout: 0 }) };
  },
};
