/** A text without the characters of `ending` at its end. Takes linear time, unlike a pattern such as `/[.,]+$/`. */
export function trimEnd(text: string, ending: string): string {
  let end = text.length;
  while (end > 0 && ending.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
