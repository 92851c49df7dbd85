// The public interface of this module: other modules import this file alone.
export { createClaimCheck } from "./claims/claims.ts";
export { recallExperiences } from "./reasoning/experiences.ts";
export { createReasoning } from "./reasoning/reasoning.ts";
export { askIntent } from "./routes/intent-question.ts";
export { createRoutedLoop } from "./routes/routed-loop.ts";
