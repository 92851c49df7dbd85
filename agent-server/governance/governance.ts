import { hash } from "node:crypto";
import { join } from "node:path";
import type { Decision, Intent, Posture } from "../contract/governance.ts";
import type { Log } from "../security/security.ts";
import type { Migration } from "../storage/storage.ts";
import { createApprovals } from "./approvals.ts";
import { type CodeFingerprint, fingerprintCode, noCode } from "./code-fingerprint.ts";
import { createAuthorizer } from "./authorize.ts";
import { effectivePosture, type Evaluation } from "./decide.ts";
import { createCachedEvaluator } from "./decision-cache.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import { approvalMigrations } from "./approval-migrations.ts";
import { createCommandPolicy, runsTests } from "./policy/commands/commands.ts";
import { networkNeeds } from "./policy/network-needs.ts";
import { createNetworkPolicy } from "./policy/network-policy.ts";
import { createPathPolicy } from "./policy/path-policy.ts";
import { createLearning, learningMigrations } from "./learning/learning.ts";
import { createSoul, soulMigrations } from "./soul/soul.ts";
import { createStats, statsMigrations } from "./decision-stats.ts";
import { createTrust, trustMigrations } from "./trust/trust.ts";
import type { Governance, GovernanceDeps, PostureOf } from "./types.ts";
import { createOutcomeRecorder, recordOutcome } from "./outcome-recorder.ts";
import { isContained } from "./policy/shell-rules.ts";
import { createWorkspaceApprovals } from "./workspace-approvals/workspace-approvals.ts";

export { isAmongPaths, permitsAction } from "./scope-limits.ts";
export type { NetworkNeeds } from "./decision-facts.ts";
export type { Question } from "./approvals.ts";
export type { Governance, GovernanceDeps } from "./types.ts";
export { governanceHandlers } from "./governance-handlers.ts";
export type { Authorization, RefusedAction } from "./authorize.ts";
export { feedbackFor, type GovernanceFeedback } from "./negotiation.ts";
export type { OutcomeReport, OutcomeStep } from "./outcome-report.ts";
export { decodeSoul, diffSouls, lintSoul, loadSoulTerms } from "./soul/soul.ts";
export { kinds as soulKinds } from "./action-vocabulary.ts";

/** The tables of this module. */
export const governanceMigrations: readonly Migration[] = [
  ...approvalMigrations,
  ...trustMigrations,
  ...learningMigrations,
  ...statsMigrations,
  ...soulMigrations,
];

/** The gate of one host. With an unusable rule table it starts, and denies everything that table covers. */
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
  const soul = createSoul({
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

  const soulFor = (scope: Intent["soulScope"]) => (scope === undefined ? soul.active() : soul.restricted(scope));
  /** A scope that reviews everything does so without a soul, and in every mode. */
  const postureIn = ({ quest, mode, soulScope }: PostureOf): Posture => {
    if (soulScope?.level === "supervised") return "supervised";
    if (mode === "crusader") return "autonomous";
    const edits = typeof quest === "string" ? deps.editsOf(quest) : null;
    return edits === null ? posture : edits === "auto" ? "autonomous" : "supervised";
  };
  const facts = ({ questId, mode, soulScope }: Intent): DecisionFacts => ({
    resolve: paths.resolve,
    ruleMessage: paths.message,
    command: commands.judge,
    network: network.judge,
    trusted,
    posture: postureIn({ quest: questId ?? null, mode, ...(soulScope === undefined ? {} : { soulScope }) }),
    broad: paths.broad,
    safeMode: deps.safeMode?.() ?? false,
    soul: soulFor(soulScope),
    trust,
    learned: learning,
    neverAutomate: learning.neverAutomate,
  });
  const evaluateCached = createCachedEvaluator(facts, log);
  /** The evaluation behind each returned decision, for trust and learning. */
  const evaluations = new WeakMap<Decision, Evaluation>();
  const evaluate = (intent: Intent): Evaluation => {
    const evaluation = evaluateCached(intent);
    evaluations.set(evaluation.decision, evaluation);
    return evaluation;
  };

  const workspaceApprovals = createWorkspaceApprovals({
    storage,
    ledger,
    context:
      workspace === null
        ? null
        : {
            workspace,
            redact: (text) => redactor.text(text).text,
            display(folder) {
              const resolved = paths.resolve(folder);
              return resolved.ok ? resolved.display : folder;
            },
            prefixes: commands.prefixes,
          },
    emit,
    now,
  });

  function codeOf({ args, cwd, questId }: Intent): CodeFingerprint | null {
    const { command, containment } = args;
    if (typeof command !== "string") return noCode;
    const folder = cwd ?? (typeof args["cwd"] === "string" ? args["cwd"] : undefined);
    const { code } = commands.judge(command, folder);
    if (code === null) return null;
    // A command in a view of the task runs the task's own version of a file.
    const isInView = isContained(containment);
    return fingerprintCode(code, (absolute) => !isInView || (questId !== undefined && !deps.hasTaskCopy(questId, absolute)));
  }

  const approvals = createApprovals({
    storage,
    workspaceApprovals,
    ledger,
    redactor,
    workspace,
    rules(scope) {
      const rules = soulFor(scope)?.document.approval_rules;
      // The owner's setting may shorten the soul's timeout, never lengthen it.
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
    observer: createOutcomeRecorder({ stats, trust, learning }),
    approvals,
    workspaceApprovals,
    codeOf,
    basisOf: ({ soulScope }, code) =>
      hash("sha256", JSON.stringify([code?.exact ?? null, soulFor(soulScope)?.sha256 ?? null, policyVersion()]), "hex"),
    ledger,
    redactor,
    log,
  });
  const tableProblems = (): string[] => [paths.problem, commands.problem, network.problem].filter((problem) => problem !== null);
  /** Computed on demand, so that the command table is not read before it is needed. */
  const policyVersion = (): string => hash("sha256", `${paths.version}${commands.version}${network.version}`, "hex");

  return {
    evaluate: (intent) => evaluate(intent).decision,
    commandNeeds(command, cwd) {
      const judgment = commands.judge(command, cwd);
      const tests = runsTests(command, judgment);
      if (!judgment.tags.includes("network")) return { network: null, tests };
      // A sandbox has its own loopback, where a server that the command starts can be reached.
      const outward = judgment.parts.filter(({ rule }) => rule.id !== "command.network-local").map(({ text }) => text);
      const parts = outward.filter((text) => commands.judge(text, cwd).tags.includes("network"));
      return {
        network: parts.length === 0 && outward.length < judgment.parts.length ? null : networkNeeds(parts, network.services),
        tests,
      };
    },
    configProblem: () => network.problem,
    judgeUrl: (url, approved) => network.judge(url, "write", approved),
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
    outcome: (report) =>
      recordOutcome(report, (step) => evaluations.get(step.decision) ?? evaluateCached(step.intent), { trust, learning }),
    rolledBack({ receiptIds }) {
      trust.rolledBack(receiptIds);
      for (const receiptId of receiptIds) learning.outcome({ receiptId, result: "rollback" });
    },
    resolvePath: paths.resolve,
    stillSame: paths.stillSame,
    judgeName: paths.judgeName,
    isSecretFile: paths.isSecretFile,
    obeyed: paths.obeyed,
    posture(action = {}) {
      const own = postureIn(action);
      return action.mode === "crusader" ? own : effectivePosture({ posture: own, soul: soulFor(action.soulScope) });
    },
    requiresReview: () => effectivePosture({ posture: "autonomous", soul: soul.active() }) === "supervised",
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
      askAgain: approvals.askAgain,
      rules: workspaceApprovals.list,
      revokeRule: workspaceApprovals.revoke,
      cancelQuest: approvals.cancelQuest,
    },
  };
}

/** Approval channels without a soul. */
const allChannels: readonly string[] = ["war_room", "chat", "notification", "terminal"];
