import { AccessError, ConflictError } from "../errors.ts";
import type { Binding } from "./binding.ts";
import { databaseError } from "./database-error.ts";
import { tableName } from "./table-name.ts";

const readOnlyTransaction = "25006";
const insufficientPrivilege = "42501";

/** An AccessError where the error says that this connection may not do what the statement needs. */
export function accessError({ tasks, queues }: Binding, error: unknown): AccessError | undefined {
  const { code, message = "", isRaised } = databaseError(error);
  // A trigger or function of the user's may use these codes for what it likes.
  if (isRaised) return undefined;
  if (code === readOnlyTransaction) {
    const advice = "pgqueue writes: use the primary, in a transaction that is not read only";
    return new AccessError(`the connection is read only (${message}); ${advice}`, { cause: error });
  }
  if (code !== insufficientPrivilege) return undefined;
  const names = [tasks, queues].map((table) => tableName(table).name);
  const schema = tableName(tasks).schema ?? "public";
  // Whole names, at the end or in quotes: `permission denied for table orders`, `… for table "orders"`.
  const isOurs = [...names, schema].some((name) => message.endsWith(` ${name}`) || message.includes(`"${name}"`));
  if (!isOurs) return undefined;
  const advice = /row-level security/.test(message)
    ? "give the role a policy that lets it"
    : `grant the role usage on the schema, and select, insert, update, delete on ${names.join(" and ")}`;
  return new AccessError(`the role of this connection may not do this (${message}); ${advice}`, { cause: error });
}

/** What PGlite says of a transaction object that is used after its end. */
export function endedTransaction(error: unknown): ConflictError | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (/^transaction is closed$/i.test(inner.message)) return transactionHasEnded(error);
  }
  return undefined;
}

export function transactionHasEnded(cause?: unknown): ConflictError {
  return new ConflictError("the transaction has ended; look for an `await` that is missing inside of it", { cause });
}
