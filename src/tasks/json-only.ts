import type { StandardSchemaV1 } from "@standard-schema/spec";

/** `unknown` where a schema's input can be stored as JSON; otherwise a type that names the paths that cannot. */
export type JsonOnly<S extends StandardSchemaV1> = [BadPaths<StandardSchemaV1.InferInput<S>>] extends [never]
  ? unknown
  : { "cannot be stored as JSON": BadPaths<StandardSchemaV1.InferInput<S>> };

type Leaf = string | number | boolean | null | undefined;
// With `any`, since each is refused whatever it holds.
type NotJson =
  | bigint
  | symbol
  | Date
  | RegExp
  | ReadonlyMap<any, any>
  | ReadonlySet<any>
  | ArrayBufferView
  | ArrayBuffer
  | Error
  | URL
  | ((...args: any[]) => unknown)
  | Promise<unknown>;

// Six levels deep, which bounds the compiler's work on recursive types; deeper faults are found when a task is enqueued.
type BadPaths<T, Path extends string = "payload", Depth extends 0[] = []> = Depth["length"] extends 6
  ? never
  : unknown extends T
    ? never
    : T extends Leaf
      ? never
      : T extends NotJson
        ? Path
        : T extends readonly (infer Item)[]
          ? BadPaths<Item, `${Path}[]`, [...Depth, 0]>
          : T extends object
            ? { [K in keyof T & string]-?: BadPaths<T[K], `${Path}.${K}`, [...Depth, 0]> }[keyof T & string]
            : never;
