// The public interface of this module: other modules import this file alone.
export { createClaimCheck } from "./claims/claims.ts";
export { recallExperiences } from "./reasoning/experiences.ts";
export { createReasoning } from "./reasoning/reasoning.ts";
