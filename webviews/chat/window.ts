/** Messages that are in the page at first, and that join it at a time. */
export const windowSize = 40;

/** Messages before those in the page. */
export function earlierCount(total: number, shown: number): number {
  return Math.max(0, total - shown);
}

/** Pixels from the end within which the owner counts as reading the end. */
export const endTolerance = 32;

export function isAtEnd(element: { scrollTop: number; scrollHeight: number; clientHeight: number }): boolean {
  return element.scrollHeight - element.scrollTop - element.clientHeight <= endTolerance;
}
