import * as fc from "fast-check";

// Runs that decide whether a change lands try the same cases each time; every other run tries new ones.
// A failure prints its seed, which `FAST_CHECK_SEED` repeats.
const seed = process.env["FAST_CHECK_SEED"] ?? (process.env["CI"] === "true" ? "20261120" : undefined);
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });
