import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { type Database, type Driver, pooler, unprepared } from "../driver.ts";

export const driver: Driver = {
  lacks: (mode) => ({
    ...(mode === "prepared" ? {} : { generic: unprepared }),
    ...(mode === "pooled" ? { listen: pooler, names: pooler } : {}),
  }),
  async open(url, mode) {
    const client = postgres(url, { onnotice: () => {}, prepare: mode !== "pooled" });
    const sent = mode === "prepared" ? preparing(client) : client;
    return { db: drizzle({ client: sent }) as unknown as Database, close: () => client.end({ timeout: 1 }) };
  },
};

/** The client, or one of its transactions, with every statement prepared: Drizzle asks for it only under `.prepare()`. */
function preparing<Client extends object>(client: Client): Client {
  return new Proxy(client, {
    get(target, name) {
      const value: any = Reflect.get(target, name);
      if (name === "unsafe") {
        return (text: string, params?: unknown[], options?: object) =>
          value.call(target, text, params, { ...options, prepare: true });
      }
      if (name === "begin" || name === "savepoint") {
        return (...args: unknown[]) => {
          const run = args.pop() as (tx: object) => unknown;
          return value.call(target, ...args, (tx: object) => run(preparing(tx)));
        };
      }
      return value;
    },
  });
}
