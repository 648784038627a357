/** What several repetitions gave. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** In the order of the repetitions. */
  readonly samples: readonly number[];
}

export function summarize(samples: readonly number[]): Summary {
  return { median: percentile(samples, 50), min: Math.min(...samples), max: Math.max(...samples), samples };
}

/** By linear interpolation between the two nearest. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const place = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
