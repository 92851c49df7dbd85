import { shorten } from "./shorten-to-tokens.ts";

/**
 * Sections of the soul by their first words, most important first: purpose, owner, prohibitions, style.
 * Other sections follow in their order.
 */
const importance: readonly RegExp[] = [
  /^your constitution\b/i,
  /^mission\b/i,
  /^allegiance\b/i,
  /^the owner is asked\b/i,
  /^how you speak\b/i,
  /^what memory may not\b/i,
  /^the owner is also asked\b/i,
  /^about yourself\b/i,
  /^without asking\b/i,
  /^autonomy\b/i,
];

/** The persona: the active soul within `max` tokens. It is deterministic. */
export function compilePersona(
  soul: { readonly text: string; readonly version: string } | null,
  max: number,
  estimateTokens: (text: string) => number,
): string {
  if (soul === null) return "";
  return shorten(soul.text, {
    max,
    estimateTokens,
    more: `There is more in the soul itself (${soul.version}).`,
    rank: (line) => {
      const at = importance.findIndex((pattern) => pattern.test(line));
      return at === -1 ? importance.length : at;
    },
  });
}
