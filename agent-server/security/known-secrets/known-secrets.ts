import type { Inspection, KnownMatch } from "../types.ts";
import { encodedForms, type EncodedForm, leastLength } from "./encoded-forms.ts";
import { createFormIndex, type FormIndex, type FormMatch, seedLength } from "./form-index.ts";
import { secretFileValues } from "./secret-file-values.ts";
import { endOfCharacter, squeeze, type SqueezedText, unfinishedEscapeAt } from "./squeezed-text.ts";
import { isTrivialValue } from "./trivial-values.ts";
import { createUnfinishedValues, type UnfinishedValues } from "./unfinished-values.ts";

/**
 * Finds the values of secret files in texts: as they are, encoded, reversed or split, and fragments of them that occur in no ordinary
 * text (task-workspace.md, Secrets). Values are kept in memory only.
 */
export interface KnownSecrets {
  /** Learns the values of a secret file, in place of what it taught before. Only the first 256 KB count. */
  learnFile(path: string, bytes: Uint8Array): void;
  /** Learns a value that belongs to no file, unless it is trivial. */
  learnValue(value: string, kind: string): void;
  /** The known values in a text, in order and without overlap. */
  find(text: string): readonly KnownMatch[];
  /** Like `find`, for a text that goes on. */
  inspect(text: string): Inspection;
  /** Increases whenever the known values change. */
  readonly version: number;
}

/** Maximum UTF-16 units of all values; later ones are not learned. A value needs about 500 bytes per unit. */
const maxUnits = 96_000;
/** Values within the first of these units are also searched for as lists of numbers, which need most of the memory. */
const maxUnitsInNumbers = 32_000;
/** Longer values are learned in parts of this length. */
const maxValue = 4_096;
/** Most values of a few characters, each of which is searched for by itself. */
const maxShort = 100;
/** Most files, and most values that belong to no file. */
const maxFiles = 2_000;
const maxSingle = 10_000;
/** From this length on a value of ordinary words is recognized inside of longer words and across blanks. */
const longEnough = 12;

interface Learned {
  readonly index: FormIndex;
  readonly forms: readonly EncodedForm[];
  /** Created for the first streamed text. */
  unfinished: UnfinishedValues | null;
  readonly short: readonly { value: string; kind: string }[];
}

export function createKnownSecrets(): KnownSecrets {
  const byFile = new Map<string, ReadonlyMap<string, string>>();
  const single = new Map<string, string>();
  let version = 0;
  let learned: Learned | null = null;

  function learn(): Learned {
    const kinds = new Map<string, string>();
    const forms: EncodedForm[] = [];
    const short: { value: string; kind: string }[] = [];
    let units = 0;
    for (const values of [...byFile.values(), single])
      for (const [value, kind] of values) {
        if (kinds.has(value) || units + value.length > maxUnits) continue;
        units += value.length;
        kinds.set(value, kind);
        const of = encodedForms(value, kind, units <= maxUnitsInNumbers);
        forms.push(...of);
        if (of.some(({ text }) => text.length < seedLength) && short.length < maxShort) short.push({ value, kind });
      }
    return { index: createFormIndex(forms), forms, unfinished: null, short };
  }

  const changed = (): void => {
    version += 1;
    learned = null;
  };

  function inspect(text: string, isStreamed: boolean): Inspection {
    if (text.length < leastLength || (single.size === 0 && byFile.size === 0)) return { matches: [], unfinishedFrom: text.length };
    const now = (learned ??= learn());
    const { index, short } = now;
    const squeezed = squeeze(text);
    const { starts } = squeezed;
    const endOf = (at: number): number => endOfCharacter(text, starts[at] ?? 0);
    const found = index.find(squeezed, (match) => isWholeValue(text, squeezed, match));
    const matches = found.map(({ form, start, end }) => ({ start: starts[start] ?? 0, end: endOf(end - 1), kind: form.source.kind }));
    for (const { value, kind } of short) matches.push(...wordsIn(text, value, kind));
    if (!isStreamed) return { matches: merge(matches), unfinishedFrom: text.length };
    const { at, isSequence } = unfinishedEscapeAt(text);
    // A cut escape has no value yet, so the text before it counts as the end.
    const whole = at < text.length ? squeeze(text.slice(0, at)) : squeezed;
    const isComplete = found.some(({ isWhole, end }) => isWhole && end === whole.length);
    const from = isComplete ? whole.length : (now.unfinished ??= createUnfinishedValues(now.forms)).from(whole);
    const unfinishedFrom = from < whole.length ? (whole.starts[from] ?? at) : isSequence ? at : text.length;
    return { matches: merge(matches), unfinishedFrom };
  }

  return {
    learnFile(path, bytes) {
      if (byFile.size >= maxFiles && !byFile.has(path)) return;
      const values = new Map(
        secretFileValues(path, bytes).flatMap(({ value, kind }) => partsOf(value).map((part) => [part, kind] as const)),
      );
      const before = byFile.get(path);
      if (before !== undefined && sameValues(before, values)) return;
      if (values.size > 0) byFile.set(path, values);
      else if (!byFile.delete(path)) return;
      changed();
    },
    learnValue(value, kind) {
      if (single.size >= maxSingle || isTrivialValue(value, null)) return;
      const parts = partsOf(value).filter((part) => !single.has(part));
      for (const part of parts) single.set(part, kind);
      if (parts.length > 0) changed();
    },
    find: (text) => inspect(text, false).matches,
    inspect: (text) => inspect(text, true),
    get version() {
      return version;
    },
  };
}

function partsOf(value: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < value.length; at += maxValue) parts.push(value.slice(at, at + maxValue));
  return parts;
}

function sameValues(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([value, kind]) => other.get(value) === kind);
}

/**
 * Judges a whole value of ordinary words: a short one must stand alone, as it is, escaped, or with every character apart. `word 2` does
 * not contain the password `word2`.
 */
function isWholeValue(text: string, { starts }: SqueezedText, { form, start, end }: FormMatch): boolean {
  if (!form.source.isWeak || form.text.length >= longEnough || form.encoding === "base64" || form.encoding === "hex") return true;
  const [from, to] = [starts[start] ?? 0, endOfCharacter(text, starts[end - 1] ?? 0)];
  if (!standsAlone(text, from, to)) return false;
  if (to - from === end - start || /[\\%&]/.test(text.slice(from, to))) return true;
  for (let at = start; at + 1 < end; at += 1) if ((starts[at + 1] ?? 0) - (starts[at] ?? 0) < 2) return false;
  return true;
}

/** True when no word goes on before or after. */
function standsAlone(text: string, from: number, to: number): boolean {
  const isWord = (character: string): boolean => /[A-Za-z0-9_]/.test(character);
  const opens = !(isWord(text.charAt(from)) && from > 0 && isWord(text.charAt(from - 1)));
  return opens && !(isWord(text.charAt(to - 1)) && isWord(text.charAt(to)));
}

function wordsIn(text: string, value: string, kind: string): KnownMatch[] {
  const matches: KnownMatch[] = [];
  for (let start = text.indexOf(value); start !== -1; start = text.indexOf(value, start + value.length)) {
    const end = start + value.length;
    if (standsAlone(text, start, end)) matches.push({ start, end, kind });
  }
  return matches;
}

/** Sorts matches and joins those that overlap. */
function merge(matches: readonly KnownMatch[]): KnownMatch[] {
  const merged: KnownMatch[] = [];
  for (const match of matches.toSorted((one, other) => one.start - other.start)) {
    const last = merged.at(-1);
    if (last === undefined || match.start >= last.end) merged.push(match);
    else if (match.end > last.end) merged[merged.length - 1] = { ...last, end: match.end };
  }
  return merged;
}

/** Replaces each match with the result of `found`. */
export function replaceKnown(text: string, matches: readonly KnownMatch[], found: (kind: string, secret: string) => string): string {
  if (matches.length === 0) return text;
  let result = "";
  let done = 0;
  for (const { start, end, kind } of matches) {
    result += text.slice(done, start) + found(kind, text.slice(start, end));
    done = end;
  }
  return result + text.slice(done);
}
