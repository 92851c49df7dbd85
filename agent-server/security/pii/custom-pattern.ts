/**
 * Whether a user-defined pattern runs in linear time on any text. Counts the ways to match at one position: repetitions multiply,
 * alternatives add. Rejects syntax that this check does not support.
 */
export interface PatternCheck {
  /** Why the pattern is rejected and how to correct it; null when it is accepted. */
  readonly problem: string | null;
  readonly pattern: RegExp | null;
}

/** Maximum ways to match at one position, and maximum length of a match. */
const maxWays = 4_096;
const maxLength = 512;

interface Cost {
  readonly ways: number;
  readonly length: number;
}

export function checkCustomPattern(source: string): PatternCheck {
  const refuse = (problem: string): PatternCheck => ({ problem, pattern: null });
  let pattern: RegExp;
  try {
    pattern = new RegExp(source, "gu");
  } catch (error) {
    return refuse(
      `is not a regular expression (${error instanceof Error ? error.message.replace(/^Invalid regular expression: /, "") : "unreadable"})`,
    );
  }
  const reader = { source, at: 0 };
  try {
    const { ways, length } = alternatives(reader, 0);
    if (reader.at < source.length) return refuse("has an unmatched closing parenthesis");
    if (length === 0 || pattern.test("")) return refuse("matches the empty text; require at least one character");
    if (length > maxLength) return refuse(`can match more than ${maxLength} characters; shorten its repetitions`);
    if (ways > maxWays)
      return refuse("could be very slow on some texts; use fewer variable repetitions, such as \\d{8} instead of \\d{6,10}");
  } catch (error) {
    if (error instanceof UnsupportedPatternError) return refuse(error.message);
    throw error;
  }
  return { problem: null, pattern };
}

class UnsupportedPatternError extends Error {}

interface Reader {
  readonly source: string;
  at: number;
}

function alternatives(reader: Reader, depth: number): Cost {
  if (depth > 20) throw new UnsupportedPatternError("nests too many groups");
  let ways = 0;
  let length = 0;
  for (;;) {
    const one = sequence(reader, depth);
    ways = capped(ways + one.ways);
    length = Math.max(length, one.length);
    if (reader.source.charAt(reader.at) !== "|") return { ways, length };
    reader.at += 1;
  }
}

function sequence(reader: Reader, depth: number): Cost {
  let ways = 1;
  let length = 0;
  while (reader.at < reader.source.length && !"|)".includes(reader.source.charAt(reader.at))) {
    const one = repeated(reader, atom(reader, depth));
    ways = capped(ways * one.ways);
    length += one.length;
  }
  return { ways, length };
}

function atom(reader: Reader, depth: number): Cost {
  const sign = reader.source.charAt(reader.at);
  reader.at += 1;
  if (sign === "(") {
    const opening = /^\?(?::|<[\p{L}_$][\p{L}\d_$]*>)/u.exec(reader.source.slice(reader.at, reader.at + 60))?.[0];
    if (reader.source.charAt(reader.at) === "?" && opening === undefined)
      throw new UnsupportedPatternError("uses a lookaround, which is not supported; use \\b for a word boundary");
    reader.at += opening?.length ?? 0;
    const inner = alternatives(reader, depth + 1);
    reader.at += 1;
    return inner;
  }
  if (sign === "[") {
    while (reader.source.charAt(reader.at) !== "]") reader.at += reader.source.charAt(reader.at) === "\\" ? 2 : 1;
    reader.at += 1;
    return { ways: 1, length: 1 };
  }
  if (sign === "\\") {
    const escape =
      /^(?:[pP]\{[^}]{1,60}\}|u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/su.exec(
        reader.source.slice(reader.at, reader.at + 64),
      )?.[0] ?? "";
    if (/^[1-9k]/.test(escape)) throw new UnsupportedPatternError("uses a backreference, which is not supported");
    reader.at += escape.length;
    return { ways: 1, length: escape === "b" || escape === "B" ? 0 : 1 };
  }
  return { ways: 1, length: sign === "^" || sign === "$" ? 0 : 1 };
}

function repeated(reader: Reader, inner: Cost): Cost {
  const match = /^(?:[*+?]|\{(\d{1,6})(,?)(\d{0,6})\})\??/.exec(reader.source.slice(reader.at, reader.at + 20));
  if (match === null) return inner;
  reader.at += match[0].length;
  const open = /^[*+]/.test(match[0]) || (match[2] === "," && match[3] === "");
  if (open) throw new UnsupportedPatternError(`has an unbounded repetition (${match[0]}); set a maximum, such as {1,40}`);
  const [least, most] = match[0].startsWith("?") ? [0, 1] : [Number(match[1]), match[2] === "," ? Number(match[3]) : Number(match[1])];
  let ways = 0;
  let power = 1;
  for (let count = 0; count <= most && count <= maxLength; count += 1) {
    if (count >= least) ways = capped(ways + power);
    power = capped(power * inner.ways);
  }
  return { ways: Math.max(1, ways), length: inner.length * most };
}

function capped(ways: number): number {
  return Math.min(ways, maxWays + 1);
}
