/** Bytes as the numbers that dumps and lists of bytes show: `65, 66`, `0x41,0x42`, `41:42`, `101 102`, and words of two bytes. */
export interface NumberForm {
  readonly text: string;
  /** Where each number begins and ends in the text. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** Bytes of each number, and bytes of the value before the first. */
  readonly bytesPerNumber: 1 | 2;
  readonly skippedBytes: 0 | 1;
}

const hex = (byte: number): string => byte.toString(16).padStart(2, "0");

/** How a byte is written, and what follows each but the last. Blanks count nothing. */
const ofBytes: readonly [write: (byte: number) => string, separator: string][] = [
  [String, ","],
  [String, ""],
  [(byte) => byte.toString(8).padStart(3, "0"), ""],
  [hex, ":"],
  [hex, ","],
  [(byte) => `0x${hex(byte)}`, ""],
  [(byte) => `0x${hex(byte)}`, ","],
];

/** `hexdump` and `od` show two bytes as one number, the second byte first. */
const ofWords: readonly ((word: number) => string)[] = [
  (word) => word.toString(16).padStart(4, "0"),
  (word) => word.toString(8).padStart(6, "0"),
];

/** The forms of a value as numbers. */
export function numberForms(bytes: Buffer): NumberForm[] {
  const forms = ofBytes.map(([write, separator]) => join(Array.from(bytes, write), separator, 1, 0));
  for (const skippedBytes of [0, 1] as const) {
    const words: number[] = [];
    for (let at = skippedBytes; at + 1 < bytes.length; at += 2) words.push(bytes.readUInt16LE(at));
    for (const write of ofWords) forms.push(join(words.map(write), "", 2, skippedBytes));
  }
  return forms;
}

function join(numbers: readonly string[], separator: string, bytesPerNumber: 1 | 2, skippedBytes: 0 | 1): NumberForm {
  const starts = new Uint32Array(numbers.length);
  const ends = new Uint32Array(numbers.length);
  let at = 0;
  for (const [index, number] of numbers.entries()) {
    starts[index] = at;
    ends[index] = at + number.length;
    at += number.length + separator.length;
  }
  return { text: numbers.join(separator), starts, ends, bytesPerNumber, skippedBytes };
}

/** The bytes that the characters `[from, to)` of a form cover completely. */
export function bytesCovered(
  { starts, ends, bytesPerNumber, skippedBytes }: NumberForm,
  from: number,
  to: number,
): [from: number, to: number] {
  return [skippedBytes + countBelow(starts, from) * bytesPerNumber, skippedBytes + countBelow(ends, to + 1) * bytesPerNumber];
}

/** The characters of a form that show the bytes `[from, to)`, without bytes that it does not show. */
export function charactersOf(
  { starts, ends, bytesPerNumber, skippedBytes }: NumberForm,
  from: number,
  to: number,
): [from: number, to: number] {
  const first = Math.max(0, Math.floor((from - skippedBytes) / bytesPerNumber));
  const last = Math.min(starts.length, Math.ceil((to - skippedBytes) / bytesPerNumber)) - 1;
  return [starts[first] ?? 0, ends[last] ?? 0];
}

/** How many of the sorted positions are below a limit. */
function countBelow(positions: Uint32Array, limit: number): number {
  let [low, high] = [0, positions.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((positions[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
