import type { LancelotError } from "../../contract/errors.ts";

/** Failures of a model or of how it was asked: another model may manage. */
const models: ReadonlySet<unknown> = new Set(["model", "refused", "request", "too_long", "answer"]);
/** Trouble of a provider, which often has more room for one model than for another. */
const providers: ReadonlySet<unknown> = new Set(["overloaded", "server", "rate_limited", "timeout"]);

/**
 * A stronger model of the same provider may manage what failed. Not what it would meet as well: a wrong key, an empty account, a
 * cap, a stop of the owner, a server that cannot be reached.
 */
export function mayEscalate(error: LancelotError): boolean {
  const reason = error.data?.["reason"];
  return (
    error.code !== "cancelled" && error.code !== "denied" && (models.has(reason) || providers.has(reason) || error.code === "internal")
  );
}

/** The provider is in trouble as a whole, so another provider is asked before another model of it. */
export function isProvidersTrouble(error: LancelotError): boolean {
  const reason = error.data?.["reason"];
  return !models.has(reason) && error.code !== "internal";
}
