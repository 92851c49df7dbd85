/** What stayed out, and whether it would not have fitted even alone. */
export interface LeftOut<T> {
  readonly unit: T;
  readonly tooLong: boolean;
}

/**
 * The longest start of `units`, which stand in the order in which they are kept, whose measure is at most `max`: the last leaves first.
 * A unit that is longer than `max` all by itself leaves before any other.
 * @param measure tokens of a selection as it would be shown; it grows with the selection
 */
export function fit<T>(units: readonly T[], max: number, measure: (kept: readonly T[]) => number): { kept: T[]; leftOut: LeftOut<T>[] } {
  if (measure(units) <= max) return { kept: [...units], leftOut: [] };
  const fitting: T[] = [];
  const leftOut: LeftOut<T>[] = [];
  for (const unit of units) {
    if (measure([unit]) <= max) fitting.push(unit);
    else leftOut.push({ unit, tooLong: true });
  }
  let fits = 0;
  let tooMany = fitting.length + 1;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (measure(fitting.slice(0, middle)) <= max) fits = middle;
    else tooMany = middle;
  }
  for (const unit of fitting.slice(fits)) leftOut.push({ unit, tooLong: false });
  return { kept: fitting.slice(0, fits), leftOut };
}
