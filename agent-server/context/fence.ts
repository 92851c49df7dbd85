import { randomBytes } from "node:crypto";

export { createDataFence, type DataFence, fence } from "../security/security.ts";

/** Creates a marker of 64 random bits, stored with its quest so that the quest's prompts are the same after a restart. */
export function newMarker(): string {
  return randomBytes(8).toString("hex");
}

/** Maximum tokens of the fence around one text (about 30 without a warning). */
export const fenceTokens = 45;
