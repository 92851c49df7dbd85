/**
 * V8 options of the agent host. A quarter of the default young generation (MB) saves an idle host about
 * 10 MB (test/bench, host) and does not slow its start.
 */
export const hostFlags: readonly string[] = ["--max-semi-space-size=4"];
