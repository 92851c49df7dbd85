import type { Tier } from "../contract/common.ts";
import type { ActionMode, Decision, Intent, Posture, Rule } from "../contract/governance.ts";
import type { DecisionFacts, SoulSubject, TrustKey } from "./decision-facts.ts";
import { askOwner, type PolicyFinding, rule } from "./policy/policy-finding.ts";
import { assessPolicy } from "./policy/policy.ts";
import { isContained } from "./policy/shell-rules.ts";
import { beyondLimits } from "./scope-limits.ts";
import type { Kind } from "./action-vocabulary.ts";
import { type BaseTier, baseTier } from "./base-tiers.ts";

export type { DecisionFacts } from "./decision-facts.ts";

/** An intent with its policy finding. Two with the same `key` get the same decision. */
export interface AssessedIntent {
  readonly intent: Intent;
  readonly mode: ActionMode;
  readonly trustKey: TrustKey;
  /** Null when the contract does not define the capability or action. */
  readonly known: KnownAction | null;
  /** Null when the decision must not be cached. */
  readonly key: string | null;
}

/** An action of the contract with its base tier and policy finding. */
interface KnownAction {
  readonly base: BaseTier;
  readonly finding: PolicyFinding;
  readonly subject: SoulSubject;
}

/** A decision with what trust and learning need to know about it. */
export interface Evaluation {
  readonly decision: Decision;
  readonly trustKey: TrustKey;
  /** The tier before trust changes it. */
  readonly defaultTier: Tier;
  /** Why neither trust nor a learned rule may lower the tier; null when they may. */
  readonly heldBy: string | null;
  readonly changesFiles: boolean;
  /** The learned rule that decided. Its use is counted before the effect. */
  readonly learnedRule: string | null;
}

/** The decision for an intent. Pure: the same intent and facts give the same decision. Rethrows errors of `facts`. */
export function decide(intent: Intent, facts: DecisionFacts): Decision {
  return decideAssessed(assessIntent(intent, facts), facts).decision;
}

/** The effective posture: the owner's, unless the soul is stricter. */
export function effectivePosture(facts: Pick<DecisionFacts, "posture" | "soul">): Posture {
  return facts.soul?.document.autonomy_posture.level === "supervised" ? "supervised" : facts.posture;
}

/** Applies policy to an intent: resolves its paths now, parses its commands and checks its addresses. */
export function assessIntent(intent: Intent, facts: DecisionFacts): AssessedIntent {
  const { capability, action } = intent;
  const base = baseTier(capability, action);
  const mode: ActionMode = intent.mode ?? "normal";
  if (base === null) return { intent, mode, trustKey: { capability, action, scope: "any" }, known: null, key: null };
  const finding = assessPolicy(intent, base, facts);
  const subject: SoulSubject = { kind: base.kind, capability, action, tags: [...base.tags, ...finding.tags] };
  const key =
    finding.key === null || intent.job !== undefined || intent.soulScope?.limits !== undefined
      ? null
      : `${capability}\n${action}\n${mode}\n${facts.posture}\n${facts.trusted ? 1 : 0}${facts.broad === null ? 0 : 1}${facts.safeMode ? 1 : 0}\n${facts.soul?.sha256}${finding.key}`;
  return { intent, mode, trustKey: { capability, action, scope: finding.scope }, known: { base, finding, subject }, key };
}

/** Decides an assessed intent: policy, soul, tier, trust and learned rules, mode, in this order; then the limits of a scope, which only deny. */
export function decideAssessed(assessed: AssessedIntent, facts: DecisionFacts): Evaluation {
  const evaluation = decideUnlimited(assessed, facts);
  const denied = beyondLimits(assessed.intent, assessed.known?.base ?? null, evaluation, facts.resolve);
  return denied === null ? evaluation : { ...evaluation, decision: denied, heldBy: ruleMessages(denied.rules), learnedRule: null };
}

function decideUnlimited(assessed: AssessedIntent, facts: DecisionFacts): Evaluation {
  const { known, trustKey } = assessed;
  const about = (decision: Decision, more: Partial<Evaluation> = {}): Evaluation => ({
    decision,
    trustKey,
    defaultTier: known?.base.tier ?? "T3",
    heldBy: null,
    changesFiles: known !== null && changesFiles(known.base),
    learnedRule: null,
    ...more,
  });
  if (known === null) {
    const unknown = rule("tier.unknown", "Unknown action, treated as irreversible.", "tier");
    return about(decision("ask", "T3", "high", [unknown], ["Use one of the listed tools.", askOwner]), { heldBy: unknown.message });
  }

  const { base, finding, subject } = known;

  // 1. Policy. No later step overrides a denial. Safe mode and a job's limits can only deny, so they are checked here too.
  const denial = finding.denial ?? modeDenial(assessed, base, facts);
  if (denial !== null) {
    return about(decision("deny", denial.tier, denial.riskLevel, denial.rules, denial.alternatives), {
      heldBy: ruleMessages(denial.rules),
    });
  }

  // 2. Soul.
  const { soul } = facts;
  const soulRules: Rule[] = [];
  const term = soul?.requiresApproval(subject) ?? null;
  if (term !== null) soulRules.push(rule("soul.requires-approval", `Your soul requires approval for "${term}".`, "soul"));
  for (const { name, description } of soul?.riskRules(subject) ?? []) {
    soulRules.push(
      rule(`soul.risk.${slug(name)}`, description === "" ? `Your soul's risk rule "${name}" requires approval.` : description, "soul"),
    );
  }

  // 3. Tier.
  const raised = finding.raises.length > 0 || term !== null;
  const defaultTier: Tier = raised ? "T3" : base.tier;
  const rules = [...finding.raises, ...soulRules];
  const holdReason =
    rules.length > 0
      ? ruleMessages(rules)
      : facts.neverAutomate(subject)
        ? "This action is on the list of actions that are never automated."
        : null;

  // 4. Trust and learned rules. Lost trust makes the tier stricter even where nothing may lower it.
  const earned = base.tier === "T0" ? defaultTier : (facts.trust.tier(trustKey, defaultTier) ?? defaultTier);
  const lost = earned > defaultTier;
  const tier: Tier = lost || holdReason === null ? floor(earned, base) : defaultTier;
  const graduated = tier < defaultTier;
  const facing = { defaultTier, heldBy: holdReason };

  if (lost) rules.push(rule("trust.lost", `You undid this action before, so it stays at tier ${tier} until it succeeds again.`, "trust"));
  if (tier === "T3" || soulRules.length > 0) {
    if (rules.length === 0) rules.push(rule("tier.T3", "Irreversible actions require your approval.", "tier"));
    rules.push(...finding.asks, ...jobQuestion(assessed, tier));
    return about(decision("ask", tier, risk(finding, tier), rules, questions(finding)), facing);
  }

  const soft = graduated ? [] : [...finding.asks, ...notNamed(soul, subject, tier)];
  if (soft.length > 0) {
    const learned = holdReason === null ? facts.learned.find(trustKey) : null;
    if (learned === null) return about(decision("ask", tier, risk(finding, tier), soft, questions(finding)), facing);
    const learnedBy = rule(`learning.${learned.id}`, learned.message, "learning");
    if (learned.verdict === "deny") {
      return about(decision("deny", tier, risk(finding, tier), [learnedBy], questions(finding)), {
        ...facing,
        learnedRule: learned.id,
      });
    }
    return about(decision("allow", tier, risk(finding, tier), [learnedBy, ...allowRules(assessed.mode, known, tier, facts)], []), {
      ...facing,
      learnedRule: learned.id,
    });
  }

  // 5. Mode.
  if (graduated) {
    rules.push(rule("trust.earned", `You lowered this action from ${defaultTier} to ${tier} after repeated successes.`, "trust"));
  }
  return about(decision("allow", tier, risk(finding, tier), [...rules, ...allowRules(assessed.mode, known, tier, facts)], []), facing);
}

/** What safe mode blocks: every action that reaches beyond this machine. */
const beyondThisMachine: ReadonlySet<string> = new Set(["web_ops", "connector", "vision_control"]);
const sending: ReadonlySet<string> = new Set(["push", "clone", "deploy"]);

/** What looks without changing anything that is kept, beside reads (T0). A command's changes of files are proposals. */
const looks: Readonly<Record<"plan" | "question", ReadonlySet<Kind>>> = {
  plan: new Set(["fetch_pages", "screenshot"]),
  question: new Set(["fetch_pages", "screenshot", "see_screen", "run_commands", "build_and_test", "write_memory"]),
};

const lookOnly = {
  plan: {
    message: "Plan mode: nothing is changed until you approve the plan.",
    alternatives: ["Look at what the plan needs, then present the plan.", "Name this action as a step of the plan."],
  },
  question: {
    message: "Your message was read as a question, so nothing is changed.",
    alternatives: ["Answer the question, and name this action as what you would do next.", askOwner],
  },
} as const;

function lookOnlyDenial(mode: ActionMode, base: BaseTier, { capability, args }: Intent): PolicyFinding["denial"] {
  if (mode !== "plan" && mode !== "question") return null;
  // Only in a copy of the workspace does a command change nothing by itself.
  const runsOutside =
    (capability === "shell_exec" || capability === "deploy_ops") && base.tier !== "T0" && !isContained(args["containment"]);
  // Stopping an own background command changes nothing of the user's.
  if (base.tier === "T0" || base.kind === "plan" || (looks[mode].has(base.kind) && !runsOutside)) return null;
  const { message, alternatives } = lookOnly[mode];
  return { tier: base.tier, riskLevel: "low", rules: [rule(`mode.${mode}`, message, "mode")], alternatives: [...alternatives] };
}

function modeDenial({ intent, mode }: AssessedIntent, base: BaseTier, facts: DecisionFacts): PolicyFinding["denial"] {
  const looking = lookOnlyDenial(mode, base, intent);
  if (looking !== null) return looking;
  if (facts.safeMode) {
    if (beyondThisMachine.has(intent.capability) || sending.has(intent.action)) {
      return {
        tier: base.tier,
        riskLevel: "high",
        rules: [rule("mode.safe", "Safe mode blocks actions that reach beyond this machine. Turn it off to allow them.", "mode")],
        alternatives: ["Work inside the workspace.", "Ask the owner to turn off safe mode."],
      };
    }
  }
  const { job } = intent;
  const limits = facts.soul?.document.scheduling_boundaries;
  if (job === undefined || limits === undefined) return null;
  const refuse = (id: string, message: string, alternative: string): PolicyFinding["denial"] => ({
    tier: base.tier,
    riskLevel: "high",
    rules: [rule(`soul.scheduling.${id}`, message, "soul")],
    alternatives: [alternative, "Ask the owner to run it by hand."],
  });
  if (limits.require_ready_state && !job.ready)
    return refuse("not-ready", "Your soul blocks jobs until Lancelot is set up.", "Finish the setup first.");
  if (job.running > limits.max_concurrent_jobs) {
    return refuse(
      "concurrent",
      `Your soul allows ${limits.max_concurrent_jobs} concurrent jobs, and more are running.`,
      "Wait until another job ends.",
    );
  }
  if (job.elapsedSeconds > limits.max_job_duration_seconds) {
    return refuse(
      "duration",
      `Your soul limits a job to ${limits.max_job_duration_seconds} seconds, and this job has run longer.`,
      "Do less in one run.",
    );
  }
  return null;
}

/** A job does nothing irreversible without an approval for that run. */
function jobQuestion({ intent }: AssessedIntent, tier: Tier): Rule[] {
  return intent.job !== undefined && tier === "T3"
    ? [rule("soul.scheduling.irreversible", "A scheduled job requires your approval for this in each run.", "soul")]
    : [];
}

function notNamed(soul: DecisionFacts["soul"], subject: SoulSubject, tier: Tier): Rule[] {
  if (soul === null || tier === "T0" || soul.allows(subject) !== null) return [];
  return [rule("soul.not-named", "Your soul does not list this action as autonomous, so it requires approval.", "soul")];
}

function changesFiles(base: BaseTier): boolean {
  return base.effect === "write" || base.effect === "delete" || base.kind === "run_commands" || base.kind === "commit";
}

/** An action that changes files keeps its checkpoint, so it never gets below T1. */
function floor(earned: Tier, base: BaseTier): Tier {
  return earned === "T0" && changesFiles(base) ? "T1" : earned;
}

function allowRules(mode: ActionMode, { base, finding }: KnownAction, tier: Tier, facts: DecisionFacts): Rule[] {
  const rules: Rule[] = [rule(`tier.${tier}`, tierMessages[tier], "tier"), ...finding.notes];
  if (base.effect !== "write") return rules;
  if (mode === "crusader") {
    rules.push(rule("mode.crusader", "Crusader mode applies workspace edits after a checkpoint. You can undo them.", "mode"));
  } else if (effectivePosture(facts) === "autonomous") {
    rules.push(rule("mode.autonomous", "Applies edits after a checkpoint. You can undo them.", "mode"));
  } else {
    rules.push(rule("mode.supervised", "Edits are pending until you review them.", "mode"));
  }
  return rules;
}

const tierMessages: Record<Tier, string> = {
  T0: "Reads only.",
  T1: "Can be undone.",
  T2: "Has effects that are verified afterward.",
  T3: "Treated as irreversible.",
};

function questions(finding: PolicyFinding): readonly string[] {
  return finding.alternatives.length > 0 ? finding.alternatives : [askOwner];
}

function risk(finding: PolicyFinding, tier: Tier): Decision["riskLevel"] {
  return finding.riskLevel ?? (tier === "T3" ? "high" : tier === "T2" ? "medium" : "low");
}

function ruleMessages(rules: readonly Rule[]): string {
  return rules.map(({ message }) => message).join(" ");
}

function slug(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);
}

function decision(
  verdict: Decision["verdict"],
  tier: Tier,
  riskLevel: Decision["riskLevel"],
  rules: readonly Rule[],
  alternatives: readonly string[],
): Decision {
  return { verdict, tier, riskLevel, rules: [...rules], alternatives: [...alternatives], cached: false };
}

/** The evaluation when the gate itself fails: a denial. */
export function failedEvaluation(): Evaluation {
  const failed = rule("policy.gate-failed", "The policy check failed, so this action is denied.");
  return {
    decision: decision("deny", "T3", "critical", [failed], ["Try a smaller step.", "Tell the owner; the log has the cause."]),
    trustKey: { capability: "unknown", action: "unknown", scope: "any" },
    defaultTier: "T3",
    heldBy: failed.message,
    changesFiles: true,
    learnedRule: null,
  };
}
