import { accessError, endedTransaction } from "./access-error.ts";
import type { Binding } from "./binding.ts";
import { schemaError } from "./schema-error.ts";

export interface Executable {
  execute(...args: unknown[]): Promise<unknown>;
}

/** The builder, whose errors are put in words where they are about pgqueue's own tables or the connection. */
export function explaining<T extends Executable>(binding: Binding, builder: T): T {
  const execute = builder.execute;
  builder.execute = (...args) =>
    execute.apply(builder, args).catch((error) => {
      throw explained(binding, error);
    });
  return builder;
}

/** The error itself, or one of pgqueue's that says what to do. */
export function explained(binding: Binding, error: unknown): unknown {
  return schemaError(binding, error) ?? accessError(binding, error) ?? endedTransaction(error) ?? error;
}
