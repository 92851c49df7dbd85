/** What differs between the generations of Claude, by the name of a model. */

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

/** Decides itself how much to think and refuses a budget (4.6 and later); those before know nothing but a budget. */
export function isAdaptive(model: string): boolean {
  return isAtLeast(model, 4, 6);
}

/**
 * Thinks unless told otherwise, shows nothing of it by default, and refuses or loses thinking that comes back behind a changed
 * conversation ("preserved thinking": 5.1 and later, of Opus, Sonnet and Haiku 5.5 and later).
 */
export function preservesThinking(model: string): boolean {
  return isAtLeast(model, 5, /fable|mythos/.test(model) ? 1 : 5);
}

/** Thinks unless told otherwise, and can be told so (Opus and Sonnet 5). */
export function thinksUnlessDisabled(model: string): boolean {
  return isAtLeast(model, 5, 0) && !preservesThinking(model) && !/fable|mythos/.test(model);
}

/** Can be told not to think before it answers. */
export function thinksBetweenTools(model: string): boolean {
  return model.includes("sonnet") && isAtLeast(model, 5, 5);
}

/** Knows `output_config.format`: structured output without a tool. */
export function knowsOutputFormat(model: string): boolean {
  return isAtLeast(model, 4, model.includes("opus") ? 1 : 5);
}

/** Tokens that the beginning of a prompt must have to be cached at all. */
export function minimumCachedTokens(model: string): number {
  if (isAtLeast(model, 5, 0)) return /sonnet|haiku/.test(model) ? 1024 : 512;
  if (/opus-4-7/.test(model)) return 2048;
  return /opus-4-[56]|haiku-4-5/.test(model) ? 4096 : 1024;
}
