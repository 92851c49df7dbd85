import { maxReadings } from "./brace-expansion.ts";
import type { Field } from "./shell-fields.ts";
import type { Word } from "unbash";

/** One possible expansion of a word, under construction. */
export interface Reading {
  value: string;
  /** As `value`, with what was quoted escaped. */
  pattern: string;
  isPattern: boolean;
  /** What stood before the first unknown part. */
  prefix: string | null;
  isNumber: boolean;
  /** Something stands here even if it is empty. */
  isPresent: boolean;
}

export function finish(reading: Reading, word: Word): Field[] {
  if (reading.prefix !== null) {
    const isNumber = reading.isNumber && /^[0-9+-]*$/.test(reading.value);
    return [{ kind: "dynamic", prefix: reading.prefix, text: word.text, ...(isNumber && { number: true }) }];
  }
  if (reading.isPattern) return [{ kind: "glob", value: reading.pattern, text: word.text }];
  if (!reading.isPresent && reading.value === "") return [];
  return [{ kind: "static", value: reading.value, text: word.text, quoted: reading.value !== word.text }];
}

export function appendText(readings: readonly Reading[], text: string, quoted: boolean): void {
  const pattern = text.replaceAll(/[*?[\]\\(){}!@+]/g, "\\$&");
  for (const reading of readings) {
    reading.value += text;
    reading.pattern += pattern;
    if (quoted || text !== "") reading.isPresent = true;
  }
}

export function appendUnknown(readings: readonly Reading[], quoted: boolean, isNumber = false): void {
  for (const reading of readings) {
    if (reading.prefix === null) reading.isNumber = isNumber;
    else reading.isNumber &&= isNumber;
    reading.prefix ??= reading.value;
    if (quoted) reading.isPresent = true;
  }
}

export function appendField(readings: readonly Reading[], field: Field, quoted: boolean): void {
  switch (field.kind) {
    case "static":
      if (!quoted && /[\s*?[\\]/.test(field.value)) appendUnknown(readings, quoted);
      else appendText(readings, field.value, quoted);
      return;
    case "glob":
      // A loop variable has one matched name at a time, so quoting it makes no difference.
      for (const reading of readings) {
        reading.pattern += field.value;
        reading.value += field.value;
        reading.isPattern = true;
        reading.isPresent = true;
      }
      return;
    case "dynamic":
      appendText(readings, field.prefix, quoted);
      appendUnknown(readings, quoted, field.number === true);
      return;
    case "tree":
    default:
      appendUnknown(readings, quoted);
  }
}

/** Same as `appendField` for several values, which multiplies the expansions. */
export function appendChoices(readings: readonly Reading[], choices: readonly Field[], quoted: boolean): Reading[] {
  if (choices.length * readings.length > maxReadings) {
    const one = readings.map((reading) => ({ ...reading }));
    appendUnknown(one, quoted);
    return one;
  }
  return choices.flatMap((choice) => {
    const copy = readings.map((reading) => ({ ...reading }));
    appendField(copy, choice, quoted);
    return copy;
  });
}

export function choiceField(choice: string): Field {
  return /[*?[]/.test(choice) ? { kind: "glob", value: choice, text: choice } : { kind: "static", value: choice, text: choice };
}
