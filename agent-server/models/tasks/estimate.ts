import { estimateTokenCount } from "tokenx";

/** Estimates are too low for some tokenizers (up to 17 %); a limit must not be. */
const margin = 1.2;
/** Longer texts are estimated by length (characters). */
const counted = 50_000;

/** A high estimate of a text's tokens. */
export function estimateTokens(text: string): number {
  return Math.ceil((text.length > counted ? text.length / 3 : estimateTokenCount(text)) * margin);
}
