/**
 * Flags of the agent host's JavaScript engine. Its space for new objects (MB) is a quarter of the usual: an idle host holds about
 * 10 MB less (test/bench, host), and starts as fast.
 */
export const hostFlags: readonly string[] = ["--max-semi-space-size=4"];
