import * as fc from "../../../node_modules/fast-check/lib/fast-check.js";

export * from "../../../node_modules/fast-check/lib/fast-check.js";

/** How often a property is tried against one mutant. */
const runs = 40;

/** A mutant is tried thousands of times over: each property tries fewer cases, so the score can only be lower than with all of them. */
export const assert = ((property: fc.IRawProperty<unknown>, parameters: fc.Parameters<unknown> = {}) =>
  fc.assert(property, { ...parameters, numRuns: Math.min(parameters.numRuns ?? 100, runs) })) as typeof fc.assert;
