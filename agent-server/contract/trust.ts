import * as z from "zod";
import { Id, page, Tier, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** How far a kind of action, on a kind of target, has earned trust. */
export const TrustRecord = z.object({
  capability: z.string(),
  action: z.string(),
  /** The target: `workspace`, a command family, a host, a remote. */
  scope: z.string(),
  defaultTier: Tier,
  /** The current tier. */
  tier: Tier,
  /** Consecutive successes at this tier. */
  successes: z.int(),
  failures: z.int(),
  rollbacks: z.int(),
  /** Remaining actions before a graduation can be proposed again. */
  coolDown: z.int(),
  /** Consecutive successes needed for the next step; null when there is none. */
  nextAt: z.int().nullable(),
  /** Why there is no next step; null when there is one. */
  heldBy: z.string().nullable(),
  updatedAt: Timestamp,
});
export type TrustRecord = z.infer<typeof TrustRecord>;

export const TrustProposal = z.object({
  id: Id,
  capability: z.string(),
  action: z.string(),
  scope: z.string(),
  from: Tier,
  to: Tier,
  /** The observations, and the effect of accepting, in words. */
  reason: z.string(),
  status: z.enum(["pending", "accepted", "declined", "withdrawn", "revoked"]),
  createdAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type TrustProposal = z.infer<typeof TrustProposal>;

/** A pattern in the owner's decisions, with at most three dimensions. */
export const LearnedPattern = z.object({
  capability: z.string(),
  action: z.string(),
  /** An additional dimension, such as `npm.install`; null when there is none. */
  scope: z.string().nullable(),
});
export type LearnedPattern = z.infer<typeof LearnedPattern>;

export const LearnedRule = z.object({
  id: Id,
  pattern: LearnedPattern,
  verdict: z.enum(["allow", "deny"]),
  status: z.enum(["active", "needs_confirmation", "revoked"]),
  /** Why it needs confirmation; null when it does not. */
  waitsFor: z.string().nullable().optional(),
  /** On this UTC day. */
  decidedToday: z.int(),
  /** Since it was last confirmed. */
  decidedInAll: z.int(),
  maxPerDay: z.int(),
  maxInAll: z.int(),
  createdAt: Timestamp,
  confirmedAt: Timestamp,
});
export type LearnedRule = z.infer<typeof LearnedRule>;

export const LearningProposal = z.object({
  id: Id,
  pattern: LearnedPattern,
  verdict: z.enum(["allow", "deny"]),
  observations: z.int(),
  /** Share of the owner's decisions that agree, from 0 to 1. */
  consistency: z.number(),
  /** Description of the actions that would no longer be asked. */
  scope: z.string(),
  /** `withdrawn`: later decisions no longer agree. */
  status: z.enum(["pending", "accepted", "declined", "withdrawn"]),
  createdAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type LearningProposal = z.infer<typeof LearningProposal>;

export const trustMethods = {
  "trust.list": method({
    summary: "Lists the trust of each kind of action.",
    access: "any",
    params: z.object({ limit: z.int().min(1).max(500).default(200) }),
    result: page(TrustRecord),
  }),
  "trust.proposals": method({
    summary: "Lists proposed graduations; pending ones unless a status is given.",
    access: "any",
    params: z.object({ status: TrustProposal.shape.status.optional(), limit: z.int().min(1).max(200).default(50) }),
    result: page(TrustProposal),
  }),
  "trust.decide": method({
    summary: "Accepts or declines a proposed graduation, or revokes an accepted one.",
    access: "owner",
    params: z.object({ id: Id, decision: z.enum(["accept", "decline", "revoke"]) }),
    result: TrustProposal,
  }),
  "learning.rules": method({
    summary: "Lists rules learned from the owner's decisions, with their use.",
    access: "any",
    params: z.object({ status: LearnedRule.shape.status.optional(), limit: z.int().min(1).max(200).default(100) }),
    result: page(LearnedRule),
  }),
  "learning.proposals": method({
    summary: "Lists proposed rules; pending ones unless a status is given.",
    access: "any",
    params: z.object({ status: LearningProposal.shape.status.optional(), limit: z.int().min(1).max(200).default(50) }),
    result: page(LearningProposal),
  }),
  "learning.decide": method({
    summary: "Accepts or declines a proposed rule (by proposal id), or confirms or revokes a rule (by rule id).",
    access: "owner",
    params: z.object({ id: Id, decision: z.enum(["accept", "decline", "confirm", "revoke"]) }),
    result: z.object({ rule: LearnedRule.nullable(), proposal: LearningProposal.nullable() }),
  }),
};
