/** How a measured process speaks with the one that measures it. */
export interface Channel {
  /** Says that all is prepared, and waits for the word to begin. */
  ready(): Promise<void>;
  /** Tells how much is done so far. */
  progress(done: number): void;
  /** Resolves when it is to end. */
  readonly ended: Promise<void>;
}

export type Activity<Input, Report> = (input: Input, channel: Channel) => Promise<Report>;
