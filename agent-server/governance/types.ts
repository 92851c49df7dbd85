import type { Transport } from "../contract/common.ts";
import type { Emit } from "../contract/events.ts";
import type { ActionContext } from "../contract/action.ts";
import type {
  Approval,
  ApprovalDecision,
  ApprovalRule,
  ApprovalStatus,
  CommandPart,
  Decision,
  EditMode,
  GovernanceStats,
  Intent,
  Posture,
} from "../contract/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { Question } from "./approvals.ts";
import type { Authorization, AuthorizeContext } from "./authorize.ts";
import type { NetworkJudgment, NetworkNeeds } from "./decision-facts.ts";
import type { Learning } from "./learning/learning.ts";
import type { OutcomeReport, RolledBackReport } from "./outcome-report.ts";
import type { ResolvedPath } from "./policy/path-policy.ts";
import type { SoulService } from "./soul/soul.ts";
import type { Trust } from "./trust/trust.ts";

/** The one gate (governance.md): every action asks it before its first effect. */
export interface Governance {
  /** The decision alone, without asking the owner. Pure; never throws. The object is shared and frozen. */
  evaluate(intent: Intent): Decision;
  /**
   * Decides, and waits for the owner when the verdict is `ask`.
   * A denial by the rules writes one receipt, named by `context.receipt`; the error's data has its id.
   * @throws LancelotError `denied` (by policy or by the owner; data: decision, receiptId or approvalId, reason),
   *   `needs_approval` (nobody can be asked, or the request expired; data: approvalId), `cancelled` (signal). A gate that fails denies.
   */
  authorize(intent: Intent, question: Question, context: AuthorizeContext): Promise<Authorization>;
  /**
   * Checks right before the effect that the intent is the authorized one and is still allowed. Uses up the authorization in every case.
   * @throws LancelotError `denied` when the intent's hash differs, the authorization was used, or the decision is stricter now.
   */
  redeem(authorization: Authorization, intent: Intent): void;
  /** Passes the outcome of an evaluated action to trust and learning. Never throws. */
  outcome(report: OutcomeReport): void;
  /** The owner rolled back the effects of these receipts. Never throws. */
  rolledBack(report: RolledBackReport): void;
  /** What a command needs to work, and whether it runs tests, as far as its syntax tree shows. */
  commandNeeds(
    command: string,
    cwd: string | undefined,
  ): {
    /** Null when it needs no network. */
    readonly network: NetworkNeeds | null;
    readonly tests: boolean;
  };
  /** Whether a command with network access may reach an address. @param approved the hosts it was approved for; null for the allowlist */
  /** Why the owner's config/network.yaml is not used; null when it is, or there is none. */
  configProblem(): string | null;
  judgeUrl(url: string, approved?: readonly string[] | null): NetworkJudgment;
  /** Why a command gets its decision, part by part. */
  explain(command: string, cwd: string | undefined): { decision: Decision; parts: CommandPart[] };
  readonly soul: SoulService;
  readonly trust: Trust;
  readonly learning: Learning;
  /** Decisions of the last days and the state of the safeguards. `verifications` come from the execution pipeline. */
  stats(days: number, verifications: GovernanceStats["verifications"]): GovernanceStats;
  /** Resolves a path as the system would and judges it. Tools may use only the returned path. Never throws. */
  resolvePath(path: string): ResolvedPath;
  /**
   * True while a resolved path leads to the same place, has the same type and gets the same verdict. Call it right before
   * the effect, use `absolute` alone, and open files without following a link in the last part: then a path that is
   * swapped after the decision is not followed.
   */
  stillSame(resolved: ResolvedPath): boolean;
  /**
   * Judges a workspace entry by its name alone, for walks that follow no links (a search skips `secret` entries).
   * Strict: every `.pem` counts as secret, because its content is not read.
   */
  judgeName(relative: string): "secret" | "protected" | null;
  /** True when the content at `place` would be secret at a path of the workspace, as a task has it in its own copy. Follows no link. */
  isSecretFile(relative: string, place: string): boolean;
  /**
   * Why a change of a workspace file is reviewed on its own in every posture: the program that would obey it. Null for other files; those
   * that `judgeName` calls protected need an approval besides.
   */
  obeyed(relative: string): string | null;
  /**
   * The effective posture: the owner's for the quest of an action, else that of the host. The soul and the scope of an action can be
   * stricter, the soul not than crusader mode.
   * @throws LancelotError `conflict`, `invalid_params` for a scope that is not one; governance denies such an action.
   */
  posture(action?: PostureOf): Posture;
  /** True when the soul wants each edit reviewed, whatever the owner chose for a task. */
  requiresReview(): boolean;
  /** What the soul's tone invariants require of answers; null without a soul. */
  tone(): { readonly noSilentFailure: boolean; readonly sourcesRequired: boolean } | null;
  setPosture(posture: Posture): void;
  setApprovalTimeout(seconds: number): void;
  /** False while nobody can answer (headless without a terminal): then `ask` fails at once instead of waiting. */
  setCanAsk(canAsk: boolean): void;
  approvals: {
    /** Approvals of this workspace, newest first; the pending ones without a status. */
    list(filter: { status?: ApprovalStatus; questId?: string; limit: number }): Approval[];
    get(id: string): Approval | null;
    /**
     * Records the owner's answer. `allow_quest` covers the identical intent (same capability, action, arguments, folder) for the
     * rest of its quest while the code that it runs stays the same, and nothing else. `allow_workspace` covers the chosen `scope` (an index
     * in the approval's `scopes`) in every quest of its workspace. A denial is remembered for the identical intent of its quest.
     * The receipt says by which `transport` the owner answered.
     * @throws LancelotError `not_found`, or `conflict` when it was answered or has expired (data: status).
     */
    decide(id: string, decision: ApprovalDecision, reason?: string, scope?: number, transport?: Transport): Approval;
    /** Forgets a denial, so that the next identical request of its quest asks again. @throws LancelotError `not_found`, `conflict` */
    askAgain(id: string, transport?: Transport): Approval;
    /** Approvals for this whole workspace, newest first. */
    rules(): ApprovalRule[];
    /** @throws LancelotError `not_found` when it has ended */
    revokeRule(id: string): void;
    /** Cancels the pending approvals of a quest that stopped. */
    cancelQuest(questId: string): void;
  };
}

/** What the posture of an action depends on, beside the host's. */
export type PostureOf = Partial<Pick<ActionContext, "quest" | "mode" | "soulScope">>;

export interface GovernanceDeps {
  storage: Storage;
  ledger: Ledger;
  redactor: Redactor;
  /** Absolute; null without a workspace. */
  workspace: string | null;
  dataDir: string;
  configDir: string;
  /** False in a restricted workspace, where nothing is written. */
  trusted: boolean;
  posture: Posture;
  approvalTimeoutSeconds: number;
  emit: Emit;
  /** True when a task has another version of a file than the workspace, as a proposed change or in its own layer. */
  hasTaskCopy: (questId: string, absolute: string) => boolean;
  /** What the owner chose for the edits of a quest; null when the posture decides. It is asked for each decision. */
  editsOf: (questId: string) => EditMode | null;
  /** The TOOLS_NETWORK flag; off by default. */
  networkEnabled?: () => boolean;
  /** The SOUL flag; on by default. */
  soulEnabled?: () => boolean;
  /** Off by default. */
  safeMode?: () => boolean;
  /** The owner's home folder; the system's by default. */
  home?: string;
  /** Receives failures of the gate itself, which then denies. */
  log?: Log;
  /** Milliseconds since 1970. */
  now?: () => number;
}
