import * as z from "zod";
import { Id, page, Tier, Timestamp } from "./common.ts";
import { method } from "./method.ts";
import { Containment } from "./providers.ts";
import { SoulScope } from "./soul.ts";

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
  /** The quest itself: its plan, questions to the owner. */
  "quest",
  /** A proposal to change the soul. */
  "soul",
] as const;

/** `plan`: nothing is changed until the owner approves a plan. `crusader`: workspace edits are applied at once. */
export const Mode = z.enum(["normal", "plan", "crusader"]);
export type Mode = z.infer<typeof Mode>;

/** What happens to the edits of one task, whatever the posture of the host is: the owner reviews them, or they are applied after a checkpoint. */
export const EditMode = z.enum(["review", "auto"]);
export type EditMode = z.infer<typeof EditMode>;

/** The mode of one action. `question`: the user asked something, so Lancelot looks and answers, and changes nothing. */
export const ActionMode = z.enum([...Mode.options, "question"]);
export type ActionMode = z.infer<typeof ActionMode>;

/** How workspace edits reach the disk: proposed for review, or applied after a checkpoint. */
export const Posture = z.enum(["supervised", "autonomous"]);
export type Posture = z.infer<typeof Posture>;

/** The state of a scheduled job when it requests an action. */
export const JobFacts = z.object({
  id: Id,
  /** Number of running jobs, including this one. */
  running: z.int().min(0),
  elapsedSeconds: z.number().min(0),
  /** Onboarding is done. */
  ready: z.boolean(),
});
export type JobFacts = z.infer<typeof JobFacts>;

/**
 * A requested action with its final arguments (resolved paths, not the model's text). Capability and action are open strings: unknown
 * ones are T3 and `ask`.
 */
export const Intent = z.object({
  capability: z.string().min(1).max(100),
  action: z.string().min(1).max(100),
  args: z.record(z.string(), z.unknown()),
  questId: Id.optional(),
  cwd: z.string().optional(),
  mode: ActionMode.default("normal"),
  /** Set for actions of a scheduled job, which the soul's scheduling boundaries apply to. */
  job: JobFacts.optional(),
  /** A stricter soul than the active one decides, such as for a skill or a sub-task. */
  soulScope: SoulScope.optional(),
});
export type Intent = z.infer<typeof Intent>;

export const Verdict = z.enum(["allow", "ask", "deny"]);
export type Verdict = z.infer<typeof Verdict>;

export const Rule = z.object({
  id: z.string(),
  source: z.enum(["policy", "soul", "tier", "trust", "learning", "mode", "approval"]),
  message: z.string(),
});
export type Rule = z.infer<typeof Rule>;

export const Decision = z.object({
  verdict: Verdict,
  tier: Tier,
  riskLevel: z.enum(["low", "medium", "high", "critical"]),
  rules: z.array(Rule),
  /** Suggested alternatives, as sentences. Present for ask and deny. */
  alternatives: z.array(z.string()),
  cached: z.boolean(),
});
export type Decision = z.infer<typeof Decision>;

export const ApprovalStatus = z.enum(["pending", "allowed_once", "allowed_quest", "allowed_workspace", "denied", "expired", "cancelled"]);
export type ApprovalStatus = z.infer<typeof ApprovalStatus>;

/** What an approval for the whole workspace covers. Everything that is not named here must be the same as in the approved action. */
export const ApprovalScope = z.object({
  capability: z.string(),
  action: z.string(),
  /**
   * `exact`: the same arguments. `prefix`: one plain command that begins with these words. `path`: the same arguments on any file below a
   * folder.
   */
  match: z.enum(["exact", "prefix", "path"]),
  /** The command (with a final ` *` for a prefix), the path (with a final `/**` for a folder) or the arguments, redacted. */
  pattern: z.string(),
  /** The working folder, relative to the workspace; null for an action without one. */
  folder: z.string().nullable(),
  /** The level of containment; null for an action that is not a command. */
  containment: Containment.nullable(),
  /** Null for an action that is not a command. */
  network: z.boolean().nullable(),
});
export type ApprovalScope = z.infer<typeof ApprovalScope>;

/** An approval for the whole workspace that the owner saved. It ends after 90 days without use. */
export const ApprovalRule = z.object({
  id: Id,
  scope: ApprovalScope,
  tier: Tier,
  /** The rules that required approval. An action for which another rule asks is not covered. */
  rules: z.array(Rule),
  /** The approval with which the owner saved it, its task, and the host (the window) that took the answer. */
  approvalId: Id,
  questId: Id.nullable(),
  hostId: Id,
  createdAt: Timestamp,
  uses: z.int().min(0),
  lastUsedAt: Timestamp.nullable(),
  expiresAt: Timestamp,
});
export type ApprovalRule = z.infer<typeof ApprovalRule>;

/** An approval request to the owner, bound to one exact intent by `intentHash` (SHA-256 of canonical JSON). */
export const Approval = z.object({
  id: Id,
  questId: Id.nullable(),
  intentHash: z.string(),
  capability: z.string(),
  action: z.string(),
  /** One-line description of the action and its target. */
  title: z.string(),
  /** The exact command, diff or arguments, redacted. */
  detail: z.string(),
  tier: Tier,
  rules: z.array(Rule),
  status: ApprovalStatus,
  reason: z.string().nullable(),
  /** Channels from the soul: `war_room`, `chat`, `notification`, `terminal`. */
  channels: z.array(z.string()),
  /** What the owner may allow in the whole workspace, widest first. Empty when only this action may be allowed. */
  scopes: z.array(ApprovalScope),
  /** True for a denial that also holds for the next identical request of the task. */
  isRemembered: z.boolean(),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  decidedAt: Timestamp.nullable(),
});
export type Approval = z.infer<typeof Approval>;

export const ApprovalDecision = z.enum(["allow_once", "allow_quest", "allow_workspace", "deny"]);
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** One simple command inside a command line, as parsed by the policy. */
export const CommandPart = z.object({
  /** The command to run, redacted. */
  text: z.string(),
  /** Enclosing constructs, outermost first: `pipe`, `$(…)`, `sudo`, `xargs`, `sh -c`. */
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
  /** Per day (YYYY-MM-DD, UTC), oldest first. */
  byDay: z.array(z.object({ day: z.string(), byTier: counts, byVerdict: counts })),
  /** The rules that asked or denied most often. */
  topRules: z.array(z.object({ id: z.string(), message: z.string(), asked: z.int(), denied: z.int() })),
  approvals: z.object({ pending: z.int(), allowed: z.int(), denied: z.int(), expired: z.int() }),
  /** Pending verifications of reversible actions, and failed ones whose actions were reverted. */
  verifications: z.object({ waiting: z.int(), failed: z.int() }),
  soulVersion: z.string().nullable(),
  /** SHA-256 of the policy tables; null when one is invalid, in which case nothing is allowed. */
  policyVersion: z.string().nullable(),
  posture: Posture,
  safeMode: z.boolean(),
  /** Problems with the safeguards themselves, as sentences. */
  problems: z.array(z.string()),
});
export type GovernanceStats = z.infer<typeof GovernanceStats>;

export const governanceMethods = {
  "policy.evaluate": method({
    summary: "Returns the decision for an intent without executing it.",
    access: "any",
    params: z.object({
      capability: z.string().min(1).max(100),
      action: z.string().min(1).max(100),
      args: z.record(z.string(), z.unknown()).default({}),
      cwd: z.string().max(4096).optional(),
      mode: ActionMode.optional(),
      job: JobFacts.optional(),
    }),
    result: Decision,
  }),
  "policy.explain": method({
    summary: "Explains the decision for a command line: each command in it, through all wrappers, with its rule.",
    access: "any",
    params: z.object({ command: z.string().min(1).max(100_000), cwd: z.string().max(4096).optional() }),
    result: z.object({ decision: Decision, parts: z.array(CommandPart) }),
  }),
  "governance.stats": method({
    summary: "Returns decisions by tier and verdict, the most frequent rules, pending approvals, and the state of every safeguard.",
    access: "any",
    params: z.object({ days: z.int().min(1).max(90).default(7) }),
    result: GovernanceStats,
  }),
  "approvals.list": method({
    summary: "Lists approvals, newest first; pending ones unless a status is given.",
    access: "any",
    params: z.object({
      status: ApprovalStatus.optional(),
      questId: Id.optional(),
      limit: z.int().min(1).max(200).default(50),
    }),
    result: page(Approval),
  }),
  "approvals.decide": method({
    summary: "Decides an approval. It can be decided once.",
    access: "owner",
    params: z.object({
      id: Id,
      decision: ApprovalDecision,
      reason: z.string().max(4000).optional(),
      /** For `allow_workspace`: the index of the chosen one in the approval's `scopes`. */
      scope: z.int().min(0).optional(),
    }),
    result: Approval,
  }),
  "approvals.askAgain": method({
    summary: "Forgets a denial, so that the next identical request of the task asks again.",
    access: "owner",
    params: z.object({ id: Id }),
    result: Approval,
  }),
  "approvals.rules": method({
    summary: "Lists the approvals for this whole workspace, newest first.",
    access: "any",
    params: z.object({}),
    result: z.object({ items: z.array(ApprovalRule) }),
  }),
  "approvals.revokeRule": method({
    summary: "Revokes an approval for the whole workspace. Actions that it covered ask again.",
    access: "owner",
    params: z.object({ id: Id }),
    result: z.object({}),
  }),
};
