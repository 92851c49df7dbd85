import * as z from "zod";
import { Id, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** The published lanes, in their published order. */
export const lanes = ["local_redaction", "local_utility", "flagship_fast", "flagship_deep"] as const;
export const Lane = z.enum(lanes);
export type Lane = z.infer<typeof Lane>;

/** The user's choice for one task. The router decides every part that is absent. */
export const ModelOverride = z.strictObject({
  lane: z.enum(["local_utility", "flagship_fast", "flagship_deep"]).optional(),
  /** Name in models.yaml. */
  provider: z.string().min(1).max(100).optional(),
  model: z.string().min(1).max(300).optional(),
});
export type ModelOverride = z.infer<typeof ModelOverride>;

/** The model that wrote an answer, and why. */
export const AnsweredBy = z.object({
  provider: z.string(),
  model: z.string(),
  /** Display name. */
  displayName: z.string(),
  lane: Lane,
  /** The reason for this lane. */
  rationale: z.string(),
  decisionId: Id.nullable(),
});
export type AnsweredBy = z.infer<typeof AnsweredBy>;

/** One decision of the router for one model call. */
export const RouterDecision = z.object({
  id: Id,
  timestamp: Timestamp,
  taskType: z.string(),
  lane: Lane,
  /** Name in models.yaml; `local`, or `none` where a rule did the work. */
  provider: z.string(),
  model: z.string(),
  rationale: z.string(),
  /** The rule of config/router.yaml that decided. */
  rule: z.enum(["override", "local_task", "redact", "deep_task", "risk", "complexity", "default", "failure", "failover", "offline"]),
  /** Alternatives, best first, and why they were not chosen. */
  alternatives: z.array(z.object({ lane: Lane, provider: z.string(), model: z.string(), reason: z.string() })),
  /** Time from the decision to the end of the call (ms); 0 while it runs and where nothing was executed. */
  elapsedMs: z.number().min(0),
  /** Null while it runs and where nothing was executed. */
  success: z.boolean().nullable(),
  error: z.string().nullable(),
  questId: Id.nullable(),
  receiptId: Id.nullable(),
});
export type RouterDecision = z.infer<typeof RouterDecision>;

export const RouterStats = z.object({
  /** Number of stored decisions: at most the last 200. */
  total: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  /** Counts by lane, rule and provider. */
  byLane: z.record(z.string(), z.int()),
  byRule: z.record(z.string(), z.int()),
  byProvider: z.record(z.string(), z.int()),
  /** Share of decisions for this machine, 0–1. */
  localShare: z.number().min(0).max(1),
  /** Median duration of finished calls (ms); null without any. */
  medianMs: z.number().nullable(),
});
export type RouterStats = z.infer<typeof RouterStats>;

/** A provider's circuit breaker: after failures in a row, calls to it pause. */
export const BreakerState = z.object({
  provider: z.string(),
  state: z.enum(["closed", "open", "half_open"]),
  /** When the next call is allowed; null unless open. */
  retryAt: Timestamp.nullable(),
  reason: z.string().nullable(),
});
export type BreakerState = z.infer<typeof BreakerState>;

export const routerMethods = {
  "router.decide": method({
    summary: "The lane and model for a text, and the reason. Nothing is executed.",
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
    summary: "Statistics of the stored decisions, the circuit breakers, and the problem of the user's config/router.yaml.",
    access: "any",
    params: z.object({}),
    result: RouterStats.extend({ breakers: z.array(BreakerState), problem: z.string().nullable(), offline: z.boolean() }),
    route: { method: "GET", path: "/router/stats" },
  }),
};
