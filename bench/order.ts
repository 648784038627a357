/**
 * In which order contenders are measured in a repetition. Each is first in turn, and the others follow forwards in one
 * repetition and backwards in the next: what one leaves behind does not meet the same one always.
 */
export function orderOf<T>(contenders: readonly T[], repetition: number): T[] {
  const step = repetition % 2 === 0 ? 1 : -1;
  const { length } = contenders;
  return contenders.map((_, i) => contenders[(((repetition + i * step) % length) + length) % length]!);
}
