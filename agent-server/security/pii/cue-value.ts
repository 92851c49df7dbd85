/**
 * Text between a cue and its value. `tight`: punctuation and a few filler words ("number is", `": "`). `loose`: any words of the same
 * sentence and line. Both are bounded, so that matching takes bounded time.
 */
const sign = String.raw`(?:[\s:=>#|"'\x60*_()[\]<.,;°º~\\/-]|&nbsp;)`;
const filler =
  "numbers?|no|nr|num|nummer|numéro|numero|número|nombre|code|id|is|was|ist|lautet|war|est|es|è|é|era|n|nº|of|the|le|la|el|o|a|der|die|das|do|da|de|del|della|di|du|my|your|his|her|" +
  "their|card|holder|value|string|str|text|field|customer|for|für|para|per|pour|on|at|am|an|au|al|ao|in|il|em|en|unter|under|to|is|main|home|work|mobil|mobile|office|cell|privat|büro|" +
  "date|me|mich|mir|us|uns|today|now|please|bitte|also|still|as|address|adresse|ip|mac|user|client|current|country|zip|new|old|neue|nuovo|nueva|nuova|novo|nova|und|client|server|bearing|with|mit|y|e|et|and";

/** In lower, Title and UPPER case: the pattern is case-sensitive because the values' shapes depend on case. */
const fillers = [
  ...new Set(filler.split("|").flatMap((word) => [word, word.charAt(0).toUpperCase() + word.slice(1), word.toUpperCase()])),
].join("|");

export const tightGap = String.raw`(?:${sign}{0,6}(?:${fillers})(?![\p{L}\d])){0,4}${sign}{0,8}`;
const looseGap = String.raw`(?:[^\d\n.!?]|[.](?!\s)){0,60}?(?<![\p{L}\d])`;

export interface ValueShape {
  readonly tight: RegExp;
  readonly loose: RegExp;
}

/** @param source a pattern without capture groups; the value is the first group of both results */
export function valueShape(source: string, flags = ""): ValueShape {
  const end = String.raw`(?![\p{L}\d])`;
  return {
    tight: new RegExp(`${tightGap}(${source})${end}`, `yu${flags}`),
    loose: new RegExp(`${looseGap}(${source})${end}`, `yu${flags}`),
  };
}

export interface Value {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The value at a position, or null. */
export function valueAt(text: string, at: number, pattern: RegExp): Value | null {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  const value = match?.[1];
  if (match === null || value === undefined) return null;
  const end = pattern.lastIndex;
  return { start: end - value.length, end, text: value };
}
