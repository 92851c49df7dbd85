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
  /** A proposal to change the soul. */
  "soul",
] as const;

export const Mode = z.enum(["normal", "crusader"]);
export type Mode = z.infer<typeof Mode>;

/** How workspace edits reach the disk: proposed for review, or applied after a checkpoint. */
export const Posture = z.enum(["supervised", "autonomous"]);
export type Posture = z.infer<typeof Posture>;

/** The state of a scheduled job at the moment it wants to do something. */
export const JobFacts = z.object({
  id: Id,
  /** Jobs that run now, this one included. */
  running: z.int().min(0),
  elapsedSeconds: z.number().min(0),
  /** Onboarding is done. */
  ready: z.boolean(),
});
export type JobFacts = z.infer<typeof JobFacts>;

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
  /** Set for what a scheduled job does; the soul's scheduling boundaries judge it. */
  job: JobFacts.optional(),
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
  /** Where the owner is asked, as the soul says: `war_room`, `chat`, `notification`, `terminal`. */
  channels: z.array(z.string()),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type Approval = z.infer<typeof Approval>;

export const ApprovalDecision = z.enum(["allow_once", "allow_quest", "deny"]);
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** One simple command inside a command line, as policy found it. */
export const CommandPart = z.object({
  /** As it would be run, redacted. */
  text: z.string(),
  /** What it stands in, outermost first: `pipe`, `$(…)`, `sudo`, `xargs`, `sh -c`. */
  within: z.array(z.string()),
  verdict: Verdict,
  tier: Tier,
  rule: Rule,
});
export type CommandPart = z.infer<typeof CommandPart>;

const counts = z.record(z.string(), z.int());

export const GovernanceStats = z.object({
  since: Timestamp,
  decisions: z.int(),
  byTier: counts,
  byVerdict: counts,
  /** A day (YYYY-MM-DD, UTC) each, oldest first. */
  byDay: z.array(z.object({ day: z.string(), byTier: counts, byVerdict: counts })),
  /** The rules that asked or refused most. */
  topRules: z.array(z.object({ id: z.string(), message: z.string(), asked: z.int(), denied: z.int() })),
  approvals: z.object({ pending: z.int(), allowed: z.int(), denied: z.int(), expired: z.int() }),
  /** Verifications of reversible actions that have not ended, and those that failed and were restored. */
  verifications: z.object({ waiting: z.int(), failed: z.int() }),
  soulVersion: z.string().nullable(),
  /** SHA-256 over the policy tables in use; null when one cannot be used, and then nothing is allowed. */
  policyVersion: z.string().nullable(),
  posture: Posture,
  safeMode: z.boolean(),
  /** Sentences: what is wrong with the safeguards themselves. */
  problems: z.array(z.string()),
});
export type GovernanceStats = z.infer<typeof GovernanceStats>;

export const governanceMethods = {
  "policy.evaluate": method({
    summary: "The decision for an intent, without doing anything.",
    access: "any",
    params: z.object({
      capability: z.string().min(1).max(100),
      action: z.string().min(1).max(100),
      args: z.record(z.string(), z.unknown()).default({}),
      cwd: z.string().max(4096).optional(),
      mode: Mode.optional(),
      job: JobFacts.optional(),
    }),
    result: Decision,
  }),
  "policy.explain": method({
    summary: "Why a command is judged as it is: each command in it, through every wrapper, with its rule.",
    access: "any",
    params: z.object({ command: z.string().min(1).max(100_000), cwd: z.string().max(4096).optional() }),
    result: z.object({ decision: Decision, parts: z.array(CommandPart) }),
  }),
  "governance.stats": method({
    summary: "Decisions by tier and verdict, what asked most, the questions that wait, and the state of every safeguard.",
    access: "any",
    params: z.object({ days: z.int().min(1).max(90).default(7) }),
    result: GovernanceStats,
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
