// The public interface of this module: other modules import this file alone.
export { createReasoning } from "./reasoning/reasoning.ts";
export { recallExperiences } from "./reasoning/experiences.ts";
