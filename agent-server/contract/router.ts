import * as z from "zod";
import { Id, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** The published lanes, in their published order. */
export const lanes = ["local_redaction", "local_utility", "flagship_fast", "flagship_deep"] as const;
export const Lane = z.enum(lanes);
export type Lane = z.infer<typeof Lane>;

/** The owner's choice for one task. Every part is optional: what is absent the router decides. */
export const ModelOverride = z.strictObject({
  lane: z.enum(["local_utility", "flagship_fast", "flagship_deep"]).optional(),
  /** Name in models.yaml. */
  provider: z.string().min(1).max(100).optional(),
  model: z.string().min(1).max(300).optional(),
});
export type ModelOverride = z.infer<typeof ModelOverride>;

/** What an answer says of the model that wrote it. */
export const AnsweredBy = z.object({
  provider: z.string(),
  model: z.string(),
  /** As people read it. */
  displayName: z.string(),
  lane: Lane,
  /** Why this lane, in one sentence. */
  rationale: z.string(),
  decisionId: Id.nullable(),
});
export type AnsweredBy = z.infer<typeof AnsweredBy>;

/** One decision of the router about one call of a model. */
export const RouterDecision = z.object({
  id: Id,
  timestamp: Timestamp,
  taskType: z.string(),
  lane: Lane,
  /** Name in models.yaml; `local`, or `none` where a rule of the host did the work. */
  provider: z.string(),
  model: z.string(),
  rationale: z.string(),
  /** Which rule of config/router.yaml decided. */
  rule: z.enum(["override", "local_task", "redact", "deep_task", "risk", "complexity", "default", "failure", "failover", "offline"]),
  /** What was possible besides, best first, and why it was not taken. */
  alternatives: z.array(z.object({ lane: Lane, provider: z.string(), model: z.string(), reason: z.string() })),
  /** Milliseconds from the decision to the end of the call; 0 while it runs and where nothing was executed. */
  elapsedMs: z.number().min(0),
  /** Null while it runs and where nothing was executed. */
  success: z.boolean().nullable(),
  error: z.string().nullable(),
  questId: Id.nullable(),
  receiptId: Id.nullable(),
});
export type RouterDecision = z.infer<typeof RouterDecision>;

export const RouterStats = z.object({
  /** Decisions that are kept: the last 200. */
  total: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  /** By lane, rule and provider, how many. */
  byLane: z.record(z.string(), z.int()),
  byRule: z.record(z.string(), z.int()),
  byProvider: z.record(z.string(), z.int()),
  /** Share of all decisions that stayed on this machine, 0–1. */
  localShare: z.number().min(0).max(1),
  /** Milliseconds, of those that ended; null where none did. */
  medianMs: z.number().nullable(),
});
export type RouterStats = z.infer<typeof RouterStats>;

/** A provider's circuit breaker: after failures in a row nothing is sent to it for a while. */
export const BreakerState = z.object({
  provider: z.string(),
  state: z.enum(["closed", "open", "half_open"]),
  /** When the next call is let through; null unless open. */
  retryAt: Timestamp.nullable(),
  reason: z.string().nullable(),
});
export type BreakerState = z.infer<typeof BreakerState>;

export const routerMethods = {
  "router.decide": method({
    summary: "Which lane and model a text would go to, and why. Nothing is executed.",
    access: "any",
    params: z.object({ taskType: z.string().min(1).max(100), text: z.string().max(1_000_000), questId: Id.optional() }),
    result: RouterDecision,
  }),
  "router.decisions": method({
    summary: "The last decisions of the router, newest first.",
    access: "any",
    params: z.object({ limit: z.coerce.number().int().min(1).max(50).default(50), questId: Id.optional() }),
    result: z.object({ items: z.array(RouterDecision) }),
    route: { method: "GET", path: "/router/decisions" },
  }),
  "router.stats": method({
    summary: "The decisions that are kept, counted; the circuit breakers; what is wrong with the owner's config/router.yaml.",
    access: "any",
    params: z.object({}),
    result: RouterStats.extend({ breakers: z.array(BreakerState), problem: z.string().nullable(), offline: z.boolean() }),
    route: { method: "GET", path: "/router/stats" },
  }),
};
