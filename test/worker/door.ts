export interface Door<T> {
  /** Resolves when the door is opened. */
  readonly opened: Promise<T>;
  open(value: T): void;
}

/** What one side waits at until the other opens it. */
export function door<T = void>(): Door<T> {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
