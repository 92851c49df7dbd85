/** An excluded unit, and whether it would not have fitted even alone. */
export interface ExcludedUnit<T> {
  readonly unit: T;
  readonly tooLong: boolean;
}

/**
 * The longest prefix of `units`, in order of importance, whose measure is at most `max`: the last one is excluded first.
 * A unit that alone exceeds `max` is excluded before any other.
 * @param measure tokens of a selection as rendered; it grows with the selection
 */
export function fit<T>(
  units: readonly T[],
  max: number,
  measure: (kept: readonly T[]) => number,
): { kept: T[]; excludedUnits: ExcludedUnit<T>[] } {
  if (measure(units) <= max) return { kept: [...units], excludedUnits: [] };
  const fitting: T[] = [];
  const excludedUnits: ExcludedUnit<T>[] = [];
  for (const unit of units) {
    if (measure([unit]) <= max) fitting.push(unit);
    else excludedUnits.push({ unit, tooLong: true });
  }
  let fits = 0;
  let tooMany = fitting.length + 1;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (measure(fitting.slice(0, middle)) <= max) fits = middle;
    else tooMany = middle;
  }
  for (const unit of fitting.slice(fits)) excludedUnits.push({ unit, tooLong: false });
  return { kept: fitting.slice(0, fits), excludedUnits };
}
