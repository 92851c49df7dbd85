import type { startEngine } from "../setup/engine.mjs";

/** A private dockerd; see test/support/setup/engine.mjs. */
export type TestEngine = Awaited<ReturnType<typeof startEngine>>;

export { smallImage, startEngine, toolsImage } from "../setup/engine.mjs";
