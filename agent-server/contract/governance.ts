import * as z from "zod";
import { Id, page, Tier, Timestamp } from "./common.ts";
import { method } from "./method.ts";

export const capabilities = [
  "shell_exec",
  "repo_ops",
  "file_ops",
  "web_ops",
  "ui_builder",
  "deploy_ops",
  "vision_control",
  "memory",
  "skill",
  "connector",
  /** The quest itself: its plan, a question to the owner. */
  "quest",
] as const;

export const Mode = z.enum(["normal", "crusader"]);
export type Mode = z.infer<typeof Mode>;

/** How workspace edits reach the disk: proposed for review, or applied after a checkpoint. */
export const Posture = z.enum(["supervised", "autonomous"]);
export type Posture = z.infer<typeof Posture>;

/**
 * What is about to happen, with arguments as they will be used (resolved paths, not what the model typed).
 * Capability and action are open strings: an unknown one is T3 and `ask`.
 */
export const Intent = z.object({
  capability: z.string().min(1).max(100),
  action: z.string().min(1).max(100),
  args: z.record(z.string(), z.unknown()),
  questId: Id.optional(),
  cwd: z.string().optional(),
  mode: Mode.default("normal"),
});
export type Intent = z.infer<typeof Intent>;

export const Verdict = z.enum(["allow", "ask", "deny"]);
export type Verdict = z.infer<typeof Verdict>;

export const Rule = z.object({
  id: z.string(),
  source: z.enum(["policy", "soul", "tier", "trust", "learning", "mode"]),
  message: z.string(),
});
export type Rule = z.infer<typeof Rule>;

export const Decision = z.object({
  verdict: Verdict,
  tier: Tier,
  riskLevel: z.enum(["low", "medium", "high", "critical"]),
  rules: z.array(Rule),
  /** Sentences: what could be done instead. Present on ask and deny. */
  alternatives: z.array(z.string()),
  cached: z.boolean(),
});
export type Decision = z.infer<typeof Decision>;

export const ApprovalStatus = z.enum(["pending", "allowed_once", "allowed_quest", "denied", "expired", "cancelled"]);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

/** A question to the owner, bound to one exact intent by `intentHash` (SHA-256 over canonical JSON). */
export const Approval = z.object({
  id: Id,
  questId: Id.nullable(),
  intentHash: z.string(),
  capability: z.string(),
  action: z.string(),
  /** One line: what will happen, on what. */
  title: z.string(),
  /** The exact command, diff or arguments, redacted. */
  detail: z.string(),
  tier: Tier,
  rules: z.array(Rule),
  status: ApprovalStatus,
  reason: z.string().nullable(),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type Approval = z.infer<typeof Approval>;

export const ApprovalDecision = z.enum(["allow_once", "allow_quest", "deny"]);
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

export const governanceMethods = {
  "policy.evaluate": method({
    summary: "The decision for an intent, without doing anything.",
    access: "any",
    params: z.object({
      capability: z.string().min(1).max(100),
      action: z.string().min(1).max(100),
      args: z.record(z.string(), z.unknown()).default({}),
      mode: Mode.optional(),
    }),
    result: Decision,
  }),
  "approvals.list": method({
    summary: "Approvals, newest first; those that wait for an answer unless a status is named.",
    access: "any",
    params: z.object({
      status: ApprovalStatus.optional(),
      questId: Id.optional(),
      limit: z.int().min(1).max(200).default(50),
    }),
    result: page(Approval),
  }),
  "approvals.decide": method({
    summary: "The owner's answer to an approval. It can be given once.",
    access: "owner",
    params: z.object({ id: Id, decision: ApprovalDecision, reason: z.string().max(4000).optional() }),
    result: Approval,
  }),
};
