/** Of a batch that was refused, to find the rows that it was for: each of them alone would take far more statements. */
export function halvesOf<T>(batch: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}
