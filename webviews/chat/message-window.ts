/** Number of messages that are shown at first and added each time. */
export const windowSize = 40;

/** Returns the number of messages before the first shown one. */
export function earlierCount(total: number, shown: number): number {
  return Math.max(0, total - shown);
}

/** Distance in pixels from the end that still counts as being at the end. */
export const endTolerance = 32;

export function isAtEnd(element: { scrollTop: number; scrollHeight: number; clientHeight: number }): boolean {
  return element.scrollHeight - element.scrollTop - element.clientHeight <= endTolerance;
}
