/**
 * Flags of the agent host's JavaScript engine. Its space for new objects (MB) is an eighth of the usual: an idle host holds about
 * 15 MB less (test/bench, host), and starts as fast.
 */
export const hostFlags: readonly string[] = ["--max-semi-space-size=2"];

/** Environment of the agent host's allocator (glibc; others ignore it): one arena for its few threads holds 4 MB less than one for each. */
export const hostAllocator: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: "1" };
