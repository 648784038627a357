import {
  bigint,
  boolean,
  integer,
  type jsonb,
  type PgBigInt53Builder,
  type pgTable,
  smallint,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import { exactJsonb } from "./json.ts";

export const taskKinds = ["job", "ticker"] as const;
export const taskStatuses = ["pending", "running", "completed", "failed", "disabled"] as const;

/** A job runs once; a ticker runs again and again, and keeps its payload. */
export type TaskKind = (typeof taskKinds)[number];
export type TaskStatus = (typeof taskStatuses)[number];

/** A failed attempt, as kept in `errors`, newest first. */
export interface TaskError {
  /** Which try it was, from 1. */
  attempt: number;
  /** When Postgres recorded it, ISO 8601 in UTC. */
  at: string;
  name: string;
  message: string;
  stack?: string;
}

// The column types of Drizzle 0.45 and 1.0 differ, so none may be spelled out in our declarations: these go through
// Drizzle's own functions and the `_` brands that both share.
type NotNull<B> = B & { _: { notNull: true } };
type Default<B> = B & { _: { hasDefault: true } };
type Of<B, T> = B & { _: { $type: T } };
type OneOf<B, T extends readonly string[]> = B & { _: { $type: T[number]; enumValues: [...T] } };
type BigInt53 = Of<InstanceType<typeof PgBigInt53Builder>, number>;
type Text = ReturnType<typeof text>;
type SmallInt = ReturnType<typeof smallint>;
type Integer = ReturnType<typeof integer>;
type Bool = ReturnType<typeof boolean>;
type Timestamp = ReturnType<typeof timestamp>;
type Uuid = ReturnType<typeof uuid>;
type Jsonb<T> = Of<ReturnType<typeof jsonb>, T>;

/** What `pgTable` takes as columns, in either major of Drizzle. */
export type ColumnMap = ReturnType<Parameters<typeof pgTable>[1]>;

/** pgqueue's own columns of the task table. */
export interface TaskColumns {
  id: Default<NotNull<BigInt53>> & { _: { isPrimaryKey: true } };
  queue: NotNull<Text>;
  kind: Default<NotNull<OneOf<Text, typeof taskKinds>>>;
  key: Text;
  hash: Text;
  hashHeld: Default<NotNull<Bool>>;
  status: Default<NotNull<OneOf<Text, typeof taskStatuses>>>;
  priority: Default<NotNull<SmallInt>>;
  payload: NotNull<Jsonb<unknown>>;
  output: Jsonb<unknown>;
  errors: Jsonb<TaskError[]>;
  attempt: Default<NotNull<Integer>>;
  claims: Default<NotNull<Integer>>;
  maxRetries: SmallInt;
  runAt: Default<NotNull<Timestamp>>;
  claimToken: Uuid;
  claimedBy: Text;
  claimedAt: Timestamp;
  leaseUntil: Timestamp;
  startedAt: Timestamp;
  meta: Jsonb<Record<string, unknown>>;
  createdAt: Default<NotNull<Timestamp>>;
  finishedAt: Timestamp;
}

/** The columns of the queue table. */
export interface QueueColumns {
  queue: NotNull<Text> & { _: { isPrimaryKey: true } };
  pausedAt: Timestamp;
}

const moment = (name: string) => timestamp(name, { withTimezone: true });

export const taskColumns = (idIsPrimaryKey: boolean): Record<keyof TaskColumns, ColumnMap[string]> => ({
  id: idIsPrimaryKey
    ? bigint("id", { mode: "number" }).primaryKey().generatedByDefaultAsIdentity()
    : bigint("id", { mode: "number" }).notNull().generatedByDefaultAsIdentity(),
  queue: text("queue").notNull(),
  kind: text("kind", { enum: taskKinds }).notNull().default("job"),
  key: text("key"),
  hash: text("hash"),
  hashHeld: boolean("hash_held").notNull().default(false),
  status: text("status", { enum: taskStatuses }).notNull().default("pending"),
  priority: smallint("priority").notNull().default(0),
  payload: exactJsonb("payload").notNull(),
  output: exactJsonb("output"),
  errors: exactJsonb("errors"),
  attempt: integer("attempt").notNull().default(0),
  claims: integer("claims").notNull().default(0),
  maxRetries: smallint("max_retries"),
  runAt: moment("run_at").notNull().defaultNow(),
  claimToken: uuid("claim_token"),
  claimedBy: text("claimed_by"),
  claimedAt: moment("claimed_at"),
  leaseUntil: moment("lease_until"),
  startedAt: moment("started_at"),
  meta: exactJsonb("meta"),
  createdAt: moment("created_at").notNull().defaultNow(),
  finishedAt: moment("finished_at"),
});

export const queueColumns = (): Record<keyof QueueColumns, ColumnMap[string]> => ({
  queue: text("queue").primaryKey(),
  pausedAt: moment("paused_at"),
});
