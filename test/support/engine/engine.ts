import { ensureEngine, startEngine, whyNoEngine } from "../setup/engine.mjs";

/** A private dockerd; see test/support/setup/engine.mjs. */
export type TestEngine = Awaited<ReturnType<typeof startEngine>>;

export { smallImage, startEngine, toolsImage } from "../setup/engine.mjs";

/** Why tests against a real engine are skipped here; null when they run. In CI they always run: without an engine they fail. */
export async function skippedWithoutEngine(): Promise<string | null> {
  const reason = await whyNoEngine();
  if (process.env["CI"] === "true") return null;
  if (reason === null) await ensureEngine();
  return reason;
}
