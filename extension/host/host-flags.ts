/**
 * V8 options of the agent host. An eighth of the default young generation (MB) saves an idle host about 15 MB (test/bench, host) and does
 * not slow its start.
 */
export const hostFlags: readonly string[] = ["--max-semi-space-size=2"];

/** Allocator settings of the agent host (glibc; others ignore them): one arena for its few threads saves 4 MB. */
export const hostAllocator: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: "1" };
