import * as z from "zod";
import { Id, page, Timestamp } from "./common.ts";
import { method } from "./method.ts";

/** `v1`, `v2`, …: ordered by number, not by letter. */
export const SoulVersion = z.string().regex(/^v[1-9]\d{0,5}$/, "A version is v and a number, such as v2.");

const Term = z.string().min(1).max(200);
const Sentence = z.string().min(1).max(2000);

/** The constitution in YAML. Unknown fields are kept and reported by `soul.lint` as warnings. */
export const SoulDocument = z.looseObject({
  version: SoulVersion.describe("The version of this document: v and a number. A version is written once and never changed."),
  mission: Sentence.describe("What Lancelot is for. Leads every prompt."),
  allegiance: Sentence.describe("Whom Lancelot serves. Leads every prompt."),
  autonomy_posture: z
    .looseObject({
      level: z
        .enum(["supervised", "autonomous"])
        .describe("supervised: edits always wait for your review. autonomous: the posture setting of the editor decides."),
      description: z.string().max(4000).default("").describe("In words, for people and for the model."),
      allowed_autonomous: z.array(Term).describe("Actions allowed without asking, below T3. Other actions require approval."),
      requires_approval: z
        .array(Term)
        .describe("Actions that always require approval (T3), regardless of trust or learned rules. Must include deleting and deploying."),
    })
    .describe("Which actions need approval."),
  risk_rules: z
    .array(
      z.looseObject({
        name: Term.describe("The rule applies to actions that match its name, or applies_to."),
        description: z.string().max(2000).default("").describe("Shown with every question the rule asks."),
        enforced: z.boolean().default(true).describe("false: documented but not enforced."),
        applies_to: z.array(Term).optional().describe("Terms as in requires_approval; the words of the name by default."),
      }),
    )
    .default([])
    .describe("Rules that make Lancelot ask."),
  approval_rules: z
    .looseObject({
      default_timeout_seconds: z.int().min(10).max(86_400).default(3600).describe("Seconds before an approval request expires."),
      escalation_on_timeout: z
        .string()
        .default("skip_and_log")
        .describe("skip_and_log: skip the step and tell the model. stop_task: stop the task."),
      channels: z.array(Term).describe("Where you are asked: war_room, chat, notification, terminal."),
    })
    .describe("How you are asked."),
  tone_invariants: z.array(Sentence).describe("Rules for every answer. One must forbid hiding errors and failures."),
  memory_ethics: z.array(Sentence).default([]).describe("Content that memory must not contain."),
  self_knowledge: z.array(Sentence).optional().describe("Facts that Lancelot should know about itself, in addition to its live state."),
  scheduling_boundaries: z
    .looseObject({
      max_concurrent_jobs: z.int().min(0).max(1000).default(5).describe("Maximum number of concurrent jobs."),
      max_job_duration_seconds: z.int().min(1).max(86_400).default(300).describe("Maximum duration of a job in seconds."),
      no_autonomous_irreversible: z.boolean().default(true).describe("true: a job needs an approval in each run for a T3 action."),
      require_ready_state: z.boolean().default(true).describe("true: jobs do not run until Lancelot is set up."),
      description: z.string().max(2000).default("").describe("In words."),
    })
    .describe("Limits for scheduled jobs."),
});
export type SoulDocument = z.infer<typeof SoulDocument>;

const documentShape = SoulDocument.shape;
const Terms = documentShape.autonomy_posture.shape.requires_approval;

/** What an action may do at most. Each field can only deny, so no value of it widens a soul. */
export const ScopeLimits = z.strictObject({
  /** Actions of a higher tier are denied, whatever trust was earned. */
  max_tier: z.enum(["T0", "T1", "T2"]),
  /** Capabilities (`file_ops`) or actions (`web_ops.fetch`). Looking at files and repositories is always permitted. */
  capabilities: z.array(z.string().min(1).max(100)).max(50),
  /** Files and folders, relative to the workspace, that may be changed. Absent: all of it. */
  paths: z.array(z.string().min(1).max(4096)).max(50).optional(),
});
export type ScopeLimits = z.infer<typeof ScopeLimits>;

/** A stricter soul for a job, a skill, a sub-task or a mode. Omitted fields keep the value of the active soul. */
export const SoulScope = z.strictObject({
  /** Part of the version: `v2+review`. */
  name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
  level: z.enum(["supervised", "autonomous"]).optional(),
  /** Replaces the soul's list; may only contain terms that it covers. */
  allowed_autonomous: Terms.optional(),
  /** Added to the soul's list. */
  requires_approval: Terms.optional(),
  risk_rules: documentShape.risk_rules.unwrap().optional(),
  tone_invariants: documentShape.tone_invariants.optional(),
  memory_ethics: documentShape.tone_invariants.optional(),
  default_timeout_seconds: z.int().min(10).optional(),
  max_concurrent_jobs: z.int().min(0).optional(),
  max_job_duration_seconds: z.int().min(1).optional(),
  no_autonomous_irreversible: z.boolean().optional(),
  require_ready_state: z.boolean().optional(),
  /** Hold even while the soul is off. Within them nothing asks: what needs an approval is denied. */
  limits: ScopeLimits.optional(),
});
export type SoulScope = z.infer<typeof SoulScope>;

/** `line` and `column` are 1-based, the position of the issue in the YAML; absent when it has none. */
export const SoulIssue = z.object({
  rule: z.string(),
  severity: z.enum(["critical", "warning"]),
  message: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
});
export type SoulIssue = z.infer<typeof SoulIssue>;

export const SoulProposal = z.object({
  id: Id,
  fromVersion: SoulVersion,
  /** The version the proposal becomes when it is activated. */
  toVersion: SoulVersion,
  status: z.enum(["pending", "approved", "activated", "rejected"]),
  reason: z.string(),
  /** Who proposed it: the owner, or the agent within a quest. */
  proposedBy: z.enum(["owner", "agent"]),
  questId: Id.nullable(),
  yaml: z.string(),
  /** Unified diff from `fromVersion`. */
  diff: z.string(),
  issues: z.array(SoulIssue),
  createdAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type SoulProposal = z.infer<typeof SoulProposal>;

export const SoulStatus = z.object({
  /** Null when the flag is off, or when no soul is valid. */
  activeVersion: SoulVersion.nullable(),
  /** By number. */
  versions: z.array(SoulVersion),
  /** Those that are pending or approved, newest first. */
  pendingProposals: z.array(SoulProposal),
  /** Why the selected soul is not active and the previous one is used; null when it is active. */
  problem: z.string().nullable(),
});
export type SoulStatus = z.infer<typeof SoulStatus>;

export const soulMethods = {
  "soul.status": method({
    summary: "Returns the active soul version, all versions and the pending proposals.",
    access: "any",
    params: z.object({}),
    result: SoulStatus,
    route: { method: "GET", path: "/soul/status" },
  }),
  "soul.get": method({
    summary: "Returns a version of the soul; the active one by default.",
    access: "any",
    params: z.object({ version: SoulVersion.optional() }),
    result: z.object({ version: SoulVersion, yaml: z.string(), document: SoulDocument, active: z.boolean() }),
  }),
  "soul.lint": method({
    summary: "Validates a soul without saving it.",
    access: "any",
    params: z.object({ yaml: z.string().max(200_000) }),
    result: z.object({ valid: z.boolean(), issues: z.array(SoulIssue) }),
  }),
  "soul.propose": method({
    summary: "Proposes a soul; nothing changes until the owner approves and activates it.",
    access: "any",
    params: z.object({ yaml: z.string().max(200_000), reason: z.string().min(1).max(4000) }),
    result: SoulProposal,
  }),
  "soul.proposals": method({
    summary: "Lists proposals, newest first.",
    access: "any",
    params: z.object({ status: SoulProposal.shape.status.optional(), limit: z.int().min(1).max(200).default(50) }),
    result: page(SoulProposal),
  }),
  "soul.approve": method({
    summary: "Approves a proposal, which takes effect when it is activated.",
    access: "owner",
    params: z.object({ id: Id }),
    result: SoulProposal,
    route: { method: "POST", path: "/soul/proposals/{id}/approve" },
  }),
  "soul.reject": method({
    summary: "Rejects a proposal.",
    access: "owner",
    params: z.object({ id: Id, reason: z.string().max(4000).optional() }),
    result: SoulProposal,
  }),
  "soul.activate": method({
    summary: "Activates an approved proposal for the next decision in every window.",
    access: "owner",
    params: z.object({ id: Id }),
    result: SoulProposal,
    route: { method: "POST", path: "/soul/proposals/{id}/activate" },
  }),
  "soul.rollback": method({
    summary: "Reactivates an earlier version of the soul.",
    access: "owner",
    params: z.object({ version: SoulVersion }),
    result: SoulStatus,
  }),
};
