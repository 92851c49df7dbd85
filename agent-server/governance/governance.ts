import { hash } from "node:crypto";
import { join } from "node:path";
import type { Emit } from "../contract/events.ts";
import type {
  Approval,
  ApprovalDecision,
  ApprovalStatus,
  CommandPart,
  Decision,
  GovernanceStats,
  Intent,
  Posture,
} from "../contract/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { Migration, Storage } from "../storage/storage.ts";
import { createApprovals, type Question } from "./approvals.ts";
import { type Authorization, type AuthorizeContext, createAuthorizer } from "./authorize.ts";
import { effectivePosture, type Judged } from "./decide.ts";
import { createEvaluate } from "./decision-cache.ts";
import type { Facts, NetworkJudgement } from "./decision-facts.ts";
import { approvalMigrations } from "./approval-migrations.ts";
import type { OutcomeReport, RolledBackReport } from "./outcome-report.ts";
import { createCommandPolicy } from "./policy/commands/commands.ts";
import { createNetworkPolicy } from "./policy/network-policy.ts";
import { createPathPolicy, type ResolvedPath } from "./policy/path-policy.ts";
import { createLearning, type Learning, learningMigrations } from "./learning/learning.ts";
import { createSoulRoom, type SoulRoom, soulMigrations } from "./soul/soul.ts";
import { createStats, statsMigrations } from "./decision-stats.ts";
import { createTrust, type Trust, trustMigrations } from "./trust/trust.ts";
import { createWitness, tellOutcome } from "./outcome-recorder.ts";

export type { Question } from "./approvals.ts";
export { governanceHandlers } from "./governance-handlers.ts";
export type { Authorization, AuthorizeContext, RefusedAction } from "./authorize.ts";
export { feedbackFor, type GovernanceFeedback } from "./negotiation.ts";
export type { OutcomeReport, OutcomeStep, RolledBackReport } from "./outcome-report.ts";
export { decodeSoul, diffSouls, lintSoul, loadSoulTerms } from "./soul/soul.ts";
export { kinds as soulKinds } from "./action-vocabulary.ts";

/** Tables of this room. */
export const governanceMigrations: readonly Migration[] = [
  ...approvalMigrations,
  ...trustMigrations,
  ...learningMigrations,
  ...statsMigrations,
  ...soulMigrations,
];

/** The one gate (governance.md). Everything that has an effect asks it first. */
export interface Governance {
  /** The decision alone: pure, no question asked, never throws. The object is shared and frozen. */
  evaluate(intent: Intent): Decision;
  /**
   * Decides, and where the verdict is `ask` waits for the owner.
   * A denial by the rules leaves one receipt, named as `context.receipt` says; its id is in the error's data.
   * @throws LancelotError `denied` (policy, or the owner's no; data: the decision, receiptId or approvalId, and the reason),
   *   `needs_approval` (nobody can be asked, or the time is over; data: approvalId), `cancelled` (signal). A gate that fails denies.
   */
  authorize(intent: Intent, question: Question, context: AuthorizeContext): Promise<Authorization>;
  /**
   * Checks, at the last moment, that what is about to be done is what was authorized and would still be, and uses the
   * authorization up, whatever comes of it.
   * @throws LancelotError `denied` when the intent's hash differs, it was used, or the decision is stricter by now.
   */
  redeem(authorization: Authorization, intent: Intent): void;
  /** What came of something that was judged: trust and learning are told. Never throws. */
  outcome(report: OutcomeReport): void;
  /** Effects of these receipts were taken back by the owner. Never throws. */
  rolledBack(report: RolledBackReport): void;
  /** What a command needs to work, as far as its syntax tree tells. */
  commandNeeds(command: string, cwd: string | undefined): { readonly network: boolean };
  /** Whether a command that was given the network may reach an address. */
  judgeUrl(url: string): NetworkJudgement;
  /** Why a command is judged as it is, part by part. */
  explain(command: string, cwd: string | undefined): { decision: Decision; parts: CommandPart[] };
  readonly soul: SoulRoom;
  readonly trust: Trust;
  readonly learning: Learning;
  /** Decisions of the last days and the state of the safeguards; `verifications` as the road has them. */
  stats(days: number, verifications: GovernanceStats["verifications"]): GovernanceStats;
  /** Resolves a path as the system would and judges it; the result is the only path a tool may use. Never throws. */
  resolvePath(path: string): ResolvedPath;
  /**
   * True while a resolved path still leads to the same place, is of the same type and is judged the same. Call it right before
   * the effect, act on `absolute` alone, and open files without following a link in the last part: then a path that is
   * swapped after the decision is not followed.
   */
  stillSame(resolved: ResolvedPath): boolean;
  /**
   * What the name of a workspace entry alone says, for walks that follow no links (a search leaves `secret` ones out).
   * Strict: a `.pem` counts as secret here without a look inside.
   */
  judgeName(relative: string): "secret" | "protected" | null;
  /** The posture that holds: the owner's, unless the soul is stricter. */
  posture(): Posture;
  /** What the soul's tone invariants ask of answers; null without a soul. */
  tone(): { readonly noSilentFailure: boolean; readonly sourcesRequired: boolean } | null;
  setPosture(posture: Posture): void;
  setApprovalTimeout(seconds: number): void;
  /** False while nobody can answer (headless without a terminal): then `ask` is refused at once, never waited for. */
  setCanAsk(canAsk: boolean): void;
  approvals: {
    /** Newest first, of this workspace; those that wait unless a status is named. */
    list(filter: { status?: ApprovalStatus; questId?: string; limit: number }): Approval[];
    get(id: string): Approval | null;
    /**
     * The owner's answer. `allow_quest` covers the identical intent (same capability, action, arguments, folder) for the rest of
     * its quest, and nothing else.
     * @throws LancelotError `not_found`, or `conflict` when it was answered or has expired.
     */
    decide(id: string, decision: ApprovalDecision, reason?: string): Approval;
    /** Ends the open questions of a quest that stopped. */
    cancelQuest(questId: string): void;
  };
}

export interface GovernanceDeps {
  storage: Storage;
  ledger: Ledger;
  redactor: Redactor;
  /** Absolute; null without a workspace. */
  workspace: string | null;
  dataDir: string;
  configDir: string;
  /** False in a restricted workspace: then nothing is written. */
  trusted: boolean;
  posture: Posture;
  approvalTimeoutSeconds: number;
  emit: Emit;
  /** Whether the flag TOOLS_NETWORK is on; off unless said. */
  networkEnabled?: () => boolean;
  /** Whether the flag SOUL is on; on unless said. */
  soulEnabled?: () => boolean;
  /** Off unless said. */
  safeMode?: () => boolean;
  /** The owner's home folder; the system's unless said. */
  home?: string;
  /** Told when the gate itself fails; it denies then. */
  log?: Log;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** The gate of one host. With an unusable rule table it starts and refuses what the table is about. */
export function createGovernance(deps: GovernanceDeps): Governance {
  const { storage, ledger, redactor, workspace, dataDir, configDir, trusted, emit } = deps;
  const log: Log = deps.log ?? (() => undefined);
  const now = deps.now ?? Date.now;
  let posture = deps.posture;
  let timeoutSeconds = deps.approvalTimeoutSeconds;
  const home = deps.home === undefined ? {} : { home: deps.home };
  const paths = createPathPolicy({ workspace, dataDir, configDir, ...home });
  const commands = createCommandPolicy({
    configDir,
    workspace,
    resolvePath: paths.resolve,
    judgeName: paths.judgeName,
    ruleMessage: paths.message,
    ...home,
  });
  const network = createNetworkPolicy({ configDir, dataDir, enabled: deps.networkEnabled ?? (() => false), redactor });
  const trust = createTrust({ storage, ledger, emit, configDir, now, log });
  const learning = createLearning({ storage, ledger, emit, configDir, now, log });
  const stats = createStats({ storage, now, log });
  const soul = createSoulRoom({
    storage,
    ledger,
    redactor,
    dataDir,
    shippedDir: join(configDir, "..", "soul"),
    configDir,
    enabled: deps.soulEnabled ?? (() => true),
    emit,
    now,
    log,
  });

  const facts = (): Facts => ({
    resolve: paths.resolve,
    ruleMessage: paths.message,
    command: commands.judge,
    network: network.judge,
    trusted,
    posture,
    broad: paths.broad,
    safeMode: deps.safeMode?.() ?? false,
    soul: soul.active(),
    trust,
    learned: learning,
    neverAutomate: learning.neverAutomate,
  });
  const judge = createEvaluate(facts, log);
  /** What trust and learning need of a decision that was given out. */
  const judgements = new WeakMap<Decision, Judged>();
  const evaluate = (intent: Intent): Judged => {
    const judged = judge(intent);
    judgements.set(judged.decision, judged);
    return judged;
  };

  const approvals = createApprovals({
    storage,
    ledger,
    redactor,
    workspace,
    rules() {
      const rules = soul.active()?.document.approval_rules;
      // The owner's setting may shorten what the soul says, not lengthen it.
      return {
        timeoutSeconds: Math.min(timeoutSeconds, rules?.default_timeout_seconds ?? timeoutSeconds),
        channels: rules?.channels ?? allChannels,
      };
    },
    emit,
    now,
  });
  const { authorize, redeem, setCanAsk } = createAuthorizer({
    evaluate,
    escalation: () => soul.active()?.document.approval_rules.escalation_on_timeout ?? "skip_and_log",
    witness: createWitness({ stats, trust, learning }),
    approvals,
    ledger,
    redactor,
    log,
  });
  const tableProblems = (): string[] => [paths.problem, commands.problem, network.problem].filter((problem) => problem !== null);
  /** Asked for when it is shown: the command table is not read before it is needed. */
  const policyVersion = (): string => hash("sha256", `${paths.version}${commands.version}${network.version}`, "hex");

  return {
    evaluate: (intent) => evaluate(intent).decision,
    commandNeeds: (command, cwd) => ({ network: commands.judge(command, cwd).tags.includes("network") }),
    judgeUrl: (url) => network.judge(url, "write"),
    explain: (command, cwd) => ({
      decision: evaluate({
        capability: "shell_exec",
        action: "run",
        args: { command },
        mode: "normal",
        ...(cwd === undefined ? {} : { cwd }),
      }).decision,
      parts: commands.judge(command, cwd).parts.map((part) => ({ ...part, text: redactor.text(part.text).text })),
    }),
    authorize,
    redeem,
    outcome: (report) => tellOutcome(report, (step) => judgements.get(step.decision) ?? judge(step.intent), { trust, learning }),
    rolledBack({ receiptIds }) {
      trust.rolledBack(receiptIds);
      for (const receiptId of receiptIds) learning.outcome({ receiptId, result: "rollback" });
    },
    resolvePath: paths.resolve,
    stillSame: paths.stillSame,
    judgeName: paths.judgeName,
    posture: () => effectivePosture({ posture, soul: soul.active() }),
    tone: () => soul.active()?.tone ?? null,
    setPosture(next) {
      posture = next;
    },
    setApprovalTimeout(seconds) {
      timeoutSeconds = seconds;
    },
    setCanAsk,
    soul,
    trust,
    learning,
    stats: (days, verifications) =>
      stats.report(days, {
        approvals: approvals.counts,
        verifications: () => verifications,
        soulVersion: () => soul.active()?.version ?? null,
        policyVersion: () => (tableProblems().length === 0 ? policyVersion() : null),
        posture: () => effectivePosture({ posture, soul: soul.active() }),
        safeMode: () => deps.safeMode?.() ?? false,
        problems: () => [...tableProblems(), trust.problem(), learning.problem(), soul.problem()].filter((problem) => problem !== null),
      }),
    approvals: {
      list: approvals.list,
      get: approvals.get,
      decide: approvals.decide,
      cancelQuest: approvals.cancelQuest,
    },
  };
}

/** Where the owner is asked while no soul says otherwise. */
const allChannels: readonly string[] = ["war_room", "chat", "notification", "terminal"];
