/** Differences between the generations of Claude, by model name. */

interface Version {
  major: number;
  minor: number;
}

/** `claude-opus-4-8` is 4.8, `claude-3-5-haiku-20241022` is 3.5; null for a name without a version. */
function versionOf(model: string): Version | null {
  if (!model.includes("claude")) return null;
  const [major, minor = "0"] = [...model.matchAll(/(?<![0-9])\d{1,2}(?![0-9])/g)].map(([digits]) => digits);
  return major === undefined ? null : { major: Number(major), minor: Number(minor) };
}

function isAtLeast(model: string, major: number, minor: number): boolean {
  const version = versionOf(model);
  return version !== null && (version.major > major || (version.major === major && version.minor >= minor));
}

/** Adapts its thinking and rejects a budget (4.6 and later); earlier models require a budget. */
export function isAdaptive(model: string): boolean {
  return isAtLeast(model, 4, 6);
}

/**
 * Thinks by default, does not show it by default, and rejects or loses thinking that is sent back after a changed conversation
 * ("preserved thinking": 5.1 and later, of Opus, Sonnet and Haiku 5.5 and later).
 */
export function preservesThinking(model: string): boolean {
  return isAtLeast(model, 5, /fable|mythos/.test(model) ? 1 : 5);
}

/** Thinks by default, and can be told so (Opus and Sonnet 5). */
export function thinksUnlessDisabled(model: string): boolean {
  return isAtLeast(model, 5, 0) && !preservesThinking(model) && !/fable|mythos/.test(model);
}

/** Supports turning thinking off. */
export function thinksBetweenTools(model: string): boolean {
  return model.includes("sonnet") && isAtLeast(model, 5, 5);
}

/** Supports `output_config.format`: structured output without a tool. */
export function knowsOutputFormat(model: string): boolean {
  return isAtLeast(model, 4, model.includes("opus") ? 1 : 5);
}

/** Minimum length of a cacheable prefix (tokens). */
export function minimumCachedTokens(model: string): number {
  if (isAtLeast(model, 5, 0)) return /sonnet|haiku/.test(model) ? 1024 : 512;
  if (/opus-4-7/.test(model)) return 2048;
  return /opus-4-[56]|haiku-4-5/.test(model) ? 4096 : 1024;
}
