import { maxExpansions } from "./brace-expansion.ts";
import type { Field } from "./shell-fields.ts";
import type { Word } from "unbash";

/** One possible expansion of a word, under construction. */
export interface Expansion {
  value: string;
  /** Same as `value`, with quoted characters escaped. */
  pattern: string;
  isPattern: boolean;
  /** The text before the first unknown part. */
  prefix: string | null;
  isNumber: boolean;
  /** True when the word is present even if it is empty. */
  isPresent: boolean;
}

export function finish(expansion: Expansion, word: Word): Field[] {
  if (expansion.prefix !== null) {
    const isNumber = expansion.isNumber && /^[0-9+-]*$/.test(expansion.value);
    return [{ kind: "dynamic", prefix: expansion.prefix, text: word.text, ...(isNumber && { number: true }) }];
  }
  if (expansion.isPattern) return [{ kind: "glob", value: expansion.pattern, text: word.text }];
  if (!expansion.isPresent && expansion.value === "") return [];
  return [{ kind: "static", value: expansion.value, text: word.text, quoted: expansion.value !== word.text }];
}

export function appendText(expansions: readonly Expansion[], text: string, quoted: boolean): void {
  const pattern = text.replaceAll(/[*?[\]\\(){}!@+]/g, "\\$&");
  for (const expansion of expansions) {
    expansion.value += text;
    expansion.pattern += pattern;
    if (quoted || text !== "") expansion.isPresent = true;
  }
}

export function appendUnknown(expansions: readonly Expansion[], quoted: boolean, isNumber = false): void {
  for (const expansion of expansions) {
    if (expansion.prefix === null) expansion.isNumber = isNumber;
    else expansion.isNumber &&= isNumber;
    expansion.prefix ??= expansion.value;
    if (quoted) expansion.isPresent = true;
  }
}

export function appendField(expansions: readonly Expansion[], field: Field, quoted: boolean): void {
  switch (field.kind) {
    case "static":
      if (!quoted && /[\s*?[\\]/.test(field.value)) appendUnknown(expansions, quoted);
      else appendText(expansions, field.value, quoted);
      return;
    case "glob":
      // A loop variable has one matched name at a time, so quoting it makes no difference.
      for (const expansion of expansions) {
        expansion.pattern += field.value;
        expansion.value += field.value;
        expansion.isPattern = true;
        expansion.isPresent = true;
      }
      return;
    case "dynamic":
      appendText(expansions, field.prefix, quoted);
      appendUnknown(expansions, quoted, field.number === true);
      return;
    case "tree":
    default:
      appendUnknown(expansions, quoted);
  }
}

/** Same as `appendField` for several values, which multiplies the expansions. */
export function appendChoices(expansions: readonly Expansion[], choices: readonly Field[], quoted: boolean): Expansion[] {
  if (choices.length * expansions.length > maxExpansions) {
    const one = expansions.map((expansion) => ({ ...expansion }));
    appendUnknown(one, quoted);
    return one;
  }
  return choices.flatMap((choice) => {
    const copy = expansions.map((expansion) => ({ ...expansion }));
    appendField(copy, choice, quoted);
    return copy;
  });
}

export function choiceField(choice: string): Field {
  return /[*?[]/.test(choice) ? { kind: "glob", value: choice, text: choice } : { kind: "static", value: choice, text: choice };
}
