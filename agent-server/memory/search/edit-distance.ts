/**
 * The number of letters to insert, delete, replace or transpose between two words. More than `most` gives `most + 1`.
 */
export function editDistance(a: string, b: string, most: number): number {
  const [from, to] = [Array.from(a), Array.from(b)];
  if (Math.abs(from.length - to.length) > most) return most + 1;
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let least = Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (previous[column - 1] ?? 0) + (same ? 0 : 1));
      const exchanged = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (exchanged) least = Math.min(least, (before[column - 2] ?? 0) + 1);
      current.push(least);
    }
    if (Math.min(...current) > most) return most + 1;
    before = previous;
    previous = current;
  }
  return Math.min(previous[to.length] ?? 0, most + 1);
}
