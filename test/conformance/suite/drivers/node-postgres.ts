import { createHash } from "node:crypto";
import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import { type Database, type Driver, pooler, unprepared } from "../driver.ts";

export const driver: Driver = {
  lacks: (mode) => ({
    ...(mode === "prepared" ? {} : { generic: unprepared }),
    ...(mode === "pooled" ? { listen: pooler, names: pooler } : {}),
  }),
  async open(url, mode) {
    const Client = mode === "prepared" ? PreparingClient : pg.Client;
    const client = new pg.Pool({ connectionString: url, Client } as pg.PoolConfig);
    // Without a listener the end of an idle connection would end the process.
    client.on("error", () => {});
    return { db: drizzle({ client }) as unknown as Database, close: () => client.end() };
  },
};

/** Gives each statement a name, by which it is prepared: Drizzle does so only under `.prepare()`. */
class PreparingClient extends pg.Client {
  override query(...args: any[]): any {
    const [config, ...rest] = args;
    if (typeof config?.text !== "string" || config.name || typeof config.submit === "function") {
      return super.query(...(args as [any]));
    }
    const name = createHash("sha256").update(config.text).digest("hex").slice(0, 32);
    return super.query({ ...config, name }, ...(rest as [any]));
  }
}
