/** Matches `*` (including slashes), `?`, `[a-z]`, `[!a-z]` and `\` as `find` does. The time is at most pattern length times text length. */
export function wildcard(pattern: string, ignoreCase: boolean): (text: string) => boolean {
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const parts = parse(Array.from(fold(pattern)));
  return (text) => {
    const chars = Array.from(fold(text));
    let at = 0;
    let part = 0;
    /** The position of the last star, and how much text it matches so far. */
    let star = -1;
    let reach = 0;
    while (at < chars.length) {
      const wanted = parts[part];
      if (wanted === "star") {
        star = part;
        reach = at;
        part += 1;
      } else if (wanted?.(chars[at] ?? "") === true) {
        at += 1;
        part += 1;
      } else if (star >= 0) {
        reach += 1;
        at = reach;
        part = star + 1;
      } else return false;
    }
    while (parts[part] === "star") part += 1;
    return part === parts.length;
  };
}

type Part = "star" | ((char: string) => boolean);

function parse(chars: readonly string[]): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? "";
    if (char === "*") parts.push("star");
    else if (char === "?") parts.push(() => true);
    else if (char === "[") {
      const negated = chars[at + 1] === "!" || chars[at + 1] === "^";
      const start = at + (negated ? 2 : 1);
      // A leading `]` is a member of the set.
      const end = chars.indexOf("]", start + 1);
      if (end === -1) parts.push((one) => one === "[");
      else {
        const has = members(chars.slice(start, end));
        parts.push((one) => has(one) !== negated);
        at = end;
      }
    } else {
      const literal = char === "\\" && at + 1 < chars.length ? (chars[(at += 1)] ?? char) : char;
      parts.push((one) => one === literal);
    }
  }
  return parts;
}

function members(chars: readonly string[]): (char: string) => boolean {
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const first = chars[at] ?? "";
    const last = chars[at + 2];
    if (chars[at + 1] === "-" && last !== undefined) {
      ranges.push([first, last]);
      at += 2;
    } else ranges.push([first, first]);
  }
  return (char) => ranges.some(([first, last]) => char >= first && char <= last);
}
