import { openDatabase } from "../database.ts";
import * as schema from "./schema.ts";

export const { db, close } = await openDatabase({ name: "ticker-cursor", schema });
