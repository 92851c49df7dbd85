import { estimateTokenCount } from "tokenx";

/** Estimates run low for some tokenizers (up to ~17 %); a limit must not. */
const margin = 1.2;
/** Longer texts are priced by length alone. Characters. */
const counted = 50_000;

/** Tokens a text is likely to cost, on the high side. */
export function estimateTokens(text: string): number {
  return Math.ceil((text.length > counted ? text.length / 3 : estimateTokenCount(text)) * margin);
}
