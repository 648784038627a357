import { openDatabase } from "../database.ts";
import { withRelations } from "./relations.ts";
import { createRoles, grantRights } from "./roles.ts";
import * as schema from "./schema.ts";

export const { db, close } = await openDatabase({
  name: "tenants",
  schema,
  config: withRelations,
  before: createRoles,
  after: grantRights,
  role: schema.workerRole.name,
});
