import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { type Database, type Driver, unprepared } from "../driver.ts";

export const driver: Driver = {
  lacks: () => ({ connections: "PGlite has one connection", generic: unprepared }),
  async open() {
    const client = await PGlite.create();
    return { db: drizzle({ client }) as unknown as Database, close: () => client.close() };
  },
};
