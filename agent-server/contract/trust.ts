import * as z from "zod";
import { Id, page, Tier, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** How far a kind of action, on a kind of target, has earned trust. */
export const TrustRecord = z.object({
  capability: z.string(),
  action: z.string(),
  /** What it acts on: `workspace`, a command family, a host, a remote. */
  scope: z.string(),
  defaultTier: Tier,
  /** The tier that is used now. */
  tier: Tier,
  /** In a row at this tier. */
  successes: z.int(),
  failures: z.int(),
  rollbacks: z.int(),
  /** Actions left before a graduation may be proposed again. */
  coolDown: z.int(),
  /** Successes in a row that are needed for the next step; null when there is none. */
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
  /** Words: what was seen, and what accepting it changes. */
  reason: z.string(),
  status: z.enum(["pending", "accepted", "declined", "withdrawn", "revoked"]),
  createdAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type TrustProposal = z.infer<typeof TrustProposal>;

/** A pattern over the owner's own answers. At most three dimensions, each of which narrows it. */
export const LearnedPattern = z.object({
  capability: z.string(),
  action: z.string(),
  /** Further dimensions, such as `scope: npm.install`; at most one beside capability and action. */
  scope: z.string().nullable(),
});
export type LearnedPattern = z.infer<typeof LearnedPattern>;

export const LearnedRule = z.object({
  id: Id,
  pattern: LearnedPattern,
  verdict: z.enum(["allow", "deny"]),
  status: z.enum(["active", "needs_confirmation", "revoked"]),
  /** Words: why it waits for a confirmation; null when it does not. */
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
  /** 0–1: the share of the owner's answers that agree. */
  consistency: z.number(),
  /** Words: exactly what would no longer be asked. */
  scope: z.string(),
  /** `withdrawn`: later answers no longer agree. */
  status: z.enum(["pending", "accepted", "declined", "withdrawn"]),
  createdAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type LearningProposal = z.infer<typeof LearningProposal>;

export const trustMethods = {
  "trust.list": method({
    summary: "What each kind of action has earned.",
    access: "any",
    params: z.object({ limit: z.int().min(1).max(500).default(200) }),
    result: page(TrustRecord),
  }),
  "trust.proposals": method({
    summary: "Proposed graduations; those that wait unless a status is named.",
    access: "any",
    params: z.object({ status: TrustProposal.shape.status.optional(), limit: z.int().min(1).max(200).default(50) }),
    result: page(TrustProposal),
  }),
  "trust.decide": method({
    summary: "The owner's answer to a proposed graduation, or the withdrawal of one that was accepted.",
    access: "owner",
    params: z.object({ id: Id, decision: z.enum(["accept", "decline", "revoke"]) }),
    result: TrustProposal,
  }),
  "learning.rules": method({
    summary: "Rules learned from the owner's answers, with what they decided.",
    access: "any",
    params: z.object({ status: LearnedRule.shape.status.optional(), limit: z.int().min(1).max(200).default(100) }),
    result: page(LearnedRule),
  }),
  "learning.proposals": method({
    summary: "Proposed rules; those that wait unless a status is named.",
    access: "any",
    params: z.object({ status: LearningProposal.shape.status.optional(), limit: z.int().min(1).max(200).default(50) }),
    result: page(LearningProposal),
  }),
  "learning.decide": method({
    summary: "The owner's answer to a proposed rule (its id), or the confirmation or withdrawal of a rule (the rule's id).",
    access: "owner",
    params: z.object({ id: Id, decision: z.enum(["accept", "decline", "confirm", "revoke"]) }),
    result: z.object({ rule: LearnedRule.nullable(), proposal: LearningProposal.nullable() }),
  }),
};
