import { distinctiveWindows } from "./fragment-strength.ts";
import { bytesCovered, charactersOf, type NumberForm, numberForms } from "./number-forms.ts";
import { squeezed, withoutEscapes } from "./squeezed-text.ts";

/** A value, or its UTF-8 bytes, as the characters that a match has to cover. */
export interface Source {
  readonly kind: string;
  readonly length: number;
  /** Least characters of a fragment that is searched for by itself. */
  readonly window: number;
  /** The first distinctive window at or after each position. */
  readonly distinctive: Uint32Array;
  /** True when no part of the value is distinctive, so that only the whole value counts. */
  readonly isWeak: boolean;
}

export type Encoding = "plain" | "reversed" | "base64" | "hex" | "numbers";

/** One way to write a value, squeezed. */
export interface EncodedForm {
  readonly text: string;
  readonly encoding: Encoding;
  readonly source: Source;
  /** Bits of the first base64 character before the first bit of the value. */
  readonly skippedBits: number;
  /** For the encoding `numbers`. */
  readonly numbers: NumberForm | null;
}

/** Least length of a text with a value. */
export const leastLength = 4;
/** Longer values are not searched for as lists of numbers. */
const maxNumbers = 200;
/** Characters of a fragment that count as a part of a value (issue: "fragments of eight characters or more"). */
const fragment = 8;

/**
 * Every form of a value that is searched for.
 * @param asNumbers also as the lists of numbers that dumps show
 */
export function encodedForms(value: string, kind: string, asNumbers: boolean): EncodedForm[] {
  const bytes = Buffer.from(value, "utf8");
  const byteText = bytes.toString("latin1");
  const plain = squeezed(value);
  const ofText = sourceOf(plain, value.length, kind);
  const ofBytes = byteText === plain ? ofText : sourceOf(byteText, byteText.length, kind);
  const forms: EncodedForm[] = [form(plain, "plain", ofText), form(Array.from(plain).toReversed().join(""), "reversed", ofText)];
  // A value with an escape of its own is also searched for as it is, because a program that splits it splits the escape.
  const literal = withoutEscapes(value);
  if (literal !== plain) {
    const ofLiteral = sourceOf(literal, value.length, kind);
    forms.push(form(literal, "plain", ofLiteral), form(Array.from(literal).toReversed().join(""), "reversed", ofLiteral));
  }
  // Programs that take UTF-8 for Latin-1, and percent escapes, which stand for bytes.
  if (byteText !== value) forms.push(form(squeezed(byteText), "plain", sourceOf(squeezed(byteText), byteText.length, kind)));
  // A form field writes a blank as a plus.
  const asField = squeezed(value.trim().replaceAll(" ", "+"));
  if (asField !== plain) forms.push(form(asField, "plain", sourceOf(asField, asField.length, kind)));
  // Shorter values are encoded into too few characters to tell them from words.
  if (bytes.length < 6) return forms.filter(({ text }) => text.length >= leastLength);
  for (const shift of [0, 1, 2]) forms.push(base64Form(bytes, shift, ofBytes));
  const hex = bytes.toString("hex");
  forms.push(form(hex, "hex", ofBytes));
  if (/[a-f]/.test(hex)) forms.push(form(hex.toUpperCase(), "hex", ofBytes));
  if (asNumbers && bytes.length <= maxNumbers)
    for (const numbers of numberForms(bytes)) forms.push({ ...form(numbers.text, "numbers", ofBytes), numbers });
  return forms.filter(({ text }) => text.length >= leastLength);
}

function form(text: string, encoding: Encoding, source: Source, skippedBits = 0): EncodedForm {
  return { text, encoding, source, skippedBits, numbers: null };
}

function sourceOf(text: string, written: number, kind: string): Source {
  // Where blanks are dropped, eight characters of the value are fewer here.
  const window = text.length < written ? fragment - 2 : fragment;
  const distinctive = distinctiveWindows(text, window);
  return { kind, length: text.length, window, distinctive, isWeak: (distinctive[0] ?? text.length) === text.length };
}

/** The characters of base64 that depend on the value alone when `shift` bytes precede it in its group of three. */
function base64Form(bytes: Buffer, shift: number, source: Source): EncodedForm {
  const first = Math.ceil((shift * 8) / 6);
  const end = Math.floor(((shift + bytes.length) * 8) / 6);
  const text = squeezed(
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(first, end),
  );
  return form(text, "base64", source, first * 6 - shift * 8);
}

/** The characters of the source that the characters `[from, to)` of a form cover completely. */
export function coveredBy({ encoding, source, skippedBits, numbers }: EncodedForm, from: number, to: number): [from: number, to: number] {
  switch (encoding) {
    case "plain":
      return [from, to];
    case "reversed":
      return [source.length - to, source.length - from];
    case "hex":
      return [Math.ceil(from / 2), Math.floor(to / 2)];
    case "base64":
      return [Math.ceil((from * 6 + skippedBits) / 8), Math.floor((to * 6 + skippedBits) / 8)];
    case "numbers":
      return numbers === null ? [0, 0] : bytesCovered(numbers, from, to);
  }
}

/** The characters of a form that the characters `[from, to)` of its source determine: the inverse of `coveredBy`. */
export function determinedBy(
  { text, encoding, source, skippedBits, numbers }: EncodedForm,
  from: number,
  to: number,
): [from: number, to: number] {
  const within = (at: number): number => Math.min(text.length, Math.max(0, at));
  switch (encoding) {
    case "plain":
      return [from, to];
    case "reversed":
      return [source.length - to, source.length - from];
    case "hex":
      return [from * 2, to * 2];
    case "base64":
      return [within(Math.ceil((from * 8 - skippedBits) / 6)), within(Math.floor((to * 8 - skippedBits) / 6))];
    case "numbers":
      return numbers === null ? [0, 0] : charactersOf(numbers, from, to);
  }
}
