import { accessError, endedTransaction } from "./access-error.ts";
import type { Binding } from "./binding.ts";
import { schemaError } from "./schema-error.ts";
import { checkOpen, uncached } from "./statement.ts";

export interface Executable {
  execute(...args: unknown[]): Promise<unknown>;
}

/** The builder, whose errors are put in words where they are about pgqueue's own tables or the connection. */
export function explaining<T extends Executable>(
  binding: Binding,
  handle: unknown,
  builder: T,
  { hasUsersSelect = false } = {},
): T {
  const execute = uncached(builder).execute;
  builder.execute = async (...args) => {
    // It may be awaited long after it was made.
    checkOpen(handle);
    try {
      return await execute.apply(builder, args);
    } catch (error) {
      throw explained(binding, error, { hasUsersSelect });
    }
  };
  return builder;
}

/** The error itself, or one of pgqueue's that says what to do. */
export function explained(binding: Binding, error: unknown, options: { hasUsersSelect?: boolean } = {}): unknown {
  return schemaError(binding, error, options) ?? accessError(binding, error) ?? endedTransaction(error) ?? error;
}
