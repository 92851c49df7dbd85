import { randomBytes } from "node:crypto";

export { createDataFence, type DataFence, fence } from "../security/security.ts";

/** A new marker, 64 random bits; kept with its quest, so that a quest's prompts are the same after a restart. */
export function newMarker(): string {
  return randomBytes(8).toString("hex");
}

/** Tokens that the marks of one text cost, at most (without a warning some 30). */
export const fenceTokens = 45;
