import type { RunLoop } from "../quests/quests.ts";

/** Begins the message that ends planning without a plan: the request is worked on directly. */
export const noPlanMark = "[No plan was made.";

/** Makes a plan for the request of a run; with `thenRun` it is shown and executed at once. The same contract as a `RunLoop` otherwise. */
export type PlanLoop = (...of: [...Parameters<RunLoop>, { thenRun: boolean }]) => Promise<void>;
