import type { Tier } from "../contract/common.ts";
import type { Decision, Intent, Mode, Posture, Rule } from "../contract/governance.ts";
import type { Facts, SoulSubject, TrustKey } from "./decision-facts.ts";
import { type Appraisal, askOwner, rule } from "./policy/policy-finding.ts";
import { appraise } from "./policy/policy.ts";
import { type BaseTier, baseTier } from "./base-tiers.ts";

export type { Facts } from "./decision-facts.ts";

/** An intent with what policy found about it. Two with the same `key` get the same decision. */
export interface Situation {
  readonly intent: Intent;
  readonly mode: Mode;
  readonly trustKey: TrustKey;
  /** Null: capability or action are not of the contract. */
  readonly known: Known | null;
  /** Null: the decision is made anew each time. */
  readonly key: string | null;
}

/** What the tables say of an intent, and policy. */
interface Known {
  readonly base: BaseTier;
  readonly appraisal: Appraisal;
  readonly subject: SoulSubject;
}

/** A decision with what trust and learning need to know of it. */
export interface Judged {
  readonly decision: Decision;
  readonly trustKey: TrustKey;
  /** The tier without anything earned. */
  readonly defaultTier: Tier;
  /** Why neither trust nor a learned rule may lift this; null when they may. */
  readonly held: string | null;
  readonly changesFiles: boolean;
  /** The learned rule that decided; its use is counted before the effect. */
  readonly learnedRule: string | null;
}

/** The decision for an intent: pure, same intent and facts give the same decision. May throw what `facts` throw. */
export function decide(intent: Intent, facts: Facts): Decision {
  return judge(situate(intent, facts), facts).decision;
}

/** The posture that holds: the owner's, unless the soul is stricter. */
export function effectivePosture(facts: Pick<Facts, "posture" | "soul">): Posture {
  return facts.soul?.document.autonomy_posture.level === "supervised" ? "supervised" : facts.posture;
}

/** Looks up what the intent names: paths as they resolve now, commands as they parse, addresses as they read. */
export function situate(intent: Intent, facts: Facts): Situation {
  const { capability, action } = intent;
  const base = baseTier(capability, action);
  const mode: Mode = intent.mode === "crusader" ? "crusader" : "normal";
  if (base === null) return { intent, mode, trustKey: { capability, action, scope: "any" }, known: null, key: null };
  const appraisal = appraise(intent, base, facts);
  const subject: SoulSubject = { kind: base.kind, capability, action, tags: [...base.tags, ...appraisal.tags] };
  const key =
    appraisal.key === null || intent.job !== undefined
      ? null
      : `${capability}\n${action}\n${mode}\n${facts.posture}\n${facts.trusted ? 1 : 0}${facts.broad === null ? 0 : 1}${facts.safeMode ? 1 : 0}\n${facts.soul?.sha256}${appraisal.key}`;
  return { intent, mode, trustKey: { capability, action, scope: appraisal.scope }, known: { base, appraisal, subject }, key };
}

/** The decision for a situation: policy, soul, tier, trust and learned rules, mode, in this order. */
export function judge(situation: Situation, facts: Facts): Judged {
  const { known, trustKey } = situation;
  const about = (decision: Decision, more: Partial<Judged> = {}): Judged => ({
    decision,
    trustKey,
    defaultTier: known?.base.tier ?? "T3",
    held: null,
    changesFiles: known !== null && changesFiles(known.base),
    learnedRule: null,
    ...more,
  });
  if (known === null) {
    const unknown = rule("tier.unknown", "This kind of action is not known, so it is treated as irreversible.", "tier");
    return about(decision("ask", "T3", "high", [unknown], ["Use one of the tools that are listed.", askOwner]), { held: unknown.message });
  }

  const { base, appraisal, subject } = known;

  // 1. Policy. Nothing after it turns a denial into an allowance. Safe mode and a job's limits only refuse, so they stand beside it.
  const denial = appraisal.denial ?? modeDenial(situation, base, facts);
  if (denial !== null) {
    return about(decision("deny", denial.tier, denial.riskLevel, denial.rules, denial.alternatives), { held: words(denial.rules) });
  }

  // 2. Soul.
  const { soul } = facts;
  const held: Rule[] = [];
  const term = soul?.requiresApproval(subject) ?? null;
  if (term !== null) held.push(rule("soul.requires-approval", `The soul holds "${term}" for your approval.`, "soul"));
  for (const { name, description } of soul?.riskRules(subject) ?? []) {
    held.push(
      rule(`soul.risk.${slug(name)}`, description === "" ? `The soul's rule "${name}" asks for your approval.` : description, "soul"),
    );
  }

  // 3. Tier.
  const raised = appraisal.raises.length > 0 || term !== null;
  const defaultTier: Tier = raised ? "T3" : base.tier;
  const rules = [...appraisal.raises, ...held];
  const holdReason =
    rules.length > 0
      ? words(rules)
      : facts.neverAutomate(subject)
        ? "This kind of action is on the list of what is never automated."
        : null;

  // 4. Trust and learned rules. What was lost makes stricter even where nothing may be lifted.
  const earned = base.tier === "T0" ? defaultTier : (facts.trust.tier(trustKey, defaultTier) ?? defaultTier);
  const lost = earned > defaultTier;
  const tier: Tier = lost || holdReason === null ? floor(earned, base) : defaultTier;
  const graduated = tier < defaultTier;
  const facing = { defaultTier, held: holdReason };

  if (lost) rules.push(rule("trust.lost", `You undid this before, so it counts as ${tier} until it has gone well again.`, "trust"));
  if (tier === "T3" || held.length > 0) {
    if (rules.length === 0) rules.push(rule("tier.T3", "What counts as irreversible waits for your approval.", "tier"));
    rules.push(...appraisal.asks, ...jobQuestion(situation, tier));
    return about(decision("ask", tier, risk(appraisal, tier), rules, questions(appraisal)), facing);
  }

  const soft = graduated ? [] : [...appraisal.asks, ...notNamed(soul, subject, tier)];
  if (soft.length > 0) {
    const learned = holdReason === null ? facts.learned.find(trustKey) : null;
    if (learned === null) return about(decision("ask", tier, risk(appraisal, tier), soft, questions(appraisal)), facing);
    const learnedBy = rule(`learning.${learned.id}`, learned.message, "learning");
    if (learned.verdict === "deny") {
      return about(decision("deny", tier, risk(appraisal, tier), [learnedBy], questions(appraisal)), {
        ...facing,
        learnedRule: learned.id,
      });
    }
    return about(decision("allow", tier, risk(appraisal, tier), [learnedBy, ...allowRules(situation.mode, known, tier, facts)], []), {
      ...facing,
      learnedRule: learned.id,
    });
  }

  // 5. Mode.
  if (graduated) {
    rules.push(rule("trust.earned", `You let this move from ${defaultTier} to ${tier} after it went well often enough.`, "trust"));
  }
  return about(decision("allow", tier, risk(appraisal, tier), [...rules, ...allowRules(situation.mode, known, tier, facts)], []), facing);
}

/** What safe mode leaves out: everything that needs more than this machine. */
const beyondThisMachine: ReadonlySet<string> = new Set(["web_ops", "connector", "vision_control"]);
const sending: ReadonlySet<string> = new Set(["push", "clone", "deploy"]);

function modeDenial({ intent }: Situation, base: BaseTier, facts: Facts): Appraisal["denial"] {
  if (facts.safeMode) {
    if (beyondThisMachine.has(intent.capability) || sending.has(intent.action)) {
      return {
        tier: base.tier,
        riskLevel: "high",
        rules: [rule("mode.safe", "Safe mode is on: only what works on this machine alone is done.", "mode")],
        alternatives: ["Do what is possible in the workspace.", "Ask the owner to leave safe mode."],
      };
    }
  }
  const { job } = intent;
  const limits = facts.soul?.document.scheduling_boundaries;
  if (job === undefined || limits === undefined) return null;
  const refuse = (id: string, message: string, alternative: string): Appraisal["denial"] => ({
    tier: base.tier,
    riskLevel: "high",
    rules: [rule(`soul.scheduling.${id}`, message, "soul")],
    alternatives: [alternative, "Ask the owner to run it by hand."],
  });
  if (limits.require_ready_state && !job.ready)
    return refuse("not-ready", "The soul lets jobs do nothing before Lancelot is set up.", "Finish the set-up first.");
  if (job.running > limits.max_concurrent_jobs) {
    return refuse(
      "concurrent",
      `The soul lets ${limits.max_concurrent_jobs} jobs run at once, and more than that run now.`,
      "Wait until another job has ended.",
    );
  }
  if (job.elapsedSeconds > limits.max_job_duration_seconds) {
    return refuse("duration", `The soul gives a job ${limits.max_job_duration_seconds} seconds, and they are over.`, "Do less in one run.");
  }
  return null;
}

/** A job never does what cannot be undone without an approval for that run. */
function jobQuestion({ intent }: Situation, tier: Tier): Rule[] {
  return intent.job !== undefined && tier === "T3"
    ? [rule("soul.scheduling.irreversible", "A scheduled job does this only with your approval for this run.", "soul")]
    : [];
}

function notNamed(soul: Facts["soul"], subject: SoulSubject, tier: Tier): Rule[] {
  if (soul === null || tier === "T0" || soul.allows(subject) !== null) return [];
  return [rule("soul.not-named", "The soul does not name this among what may be done without asking.", "soul")];
}

function changesFiles(base: BaseTier): boolean {
  return base.effect === "write" || base.effect === "delete" || base.kind === "run_commands" || base.kind === "commit";
}

/** What changes files keeps its checkpoint, so it never gets below T1. */
function floor(earned: Tier, base: BaseTier): Tier {
  return earned === "T0" && changesFiles(base) ? "T1" : earned;
}

function allowRules(mode: Mode, { base, appraisal }: Known, tier: Tier, facts: Facts): Rule[] {
  const rules: Rule[] = [rule(`tier.${tier}`, tierMessages[tier], "tier"), ...appraisal.notes];
  if (base.effect !== "write") return rules;
  if (mode === "crusader") {
    rules.push(rule("mode.crusader", "Crusader: edits in the workspace are applied after a checkpoint and can be undone.", "mode"));
  } else if (effectivePosture(facts) === "autonomous") {
    rules.push(rule("mode.autonomous", "Edits are applied after a checkpoint and can be undone.", "mode"));
  } else {
    rules.push(rule("mode.supervised", "Edits wait for your review.", "mode"));
  }
  return rules;
}

const tierMessages: Record<Tier, string> = {
  T0: "This only looks.",
  T1: "This can be undone.",
  T2: "This has effects that are checked afterwards.",
  T3: "This counts as irreversible.",
};

function questions(appraisal: Appraisal): readonly string[] {
  return appraisal.alternatives.length > 0 ? appraisal.alternatives : [askOwner];
}

function risk(appraisal: Appraisal, tier: Tier): Decision["riskLevel"] {
  return appraisal.riskLevel ?? (tier === "T3" ? "high" : tier === "T2" ? "medium" : "low");
}

function words(rules: readonly Rule[]): string {
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

/** What the gate says when it cannot decide. */
export function failedGate(): Judged {
  const failed = rule("policy.gate-failed", "The rules could not be applied, so this is refused.");
  return {
    decision: decision("deny", "T3", "critical", [failed], ["Try a smaller step.", "Tell the owner; the log says what failed."]),
    trustKey: { capability: "unknown", action: "unknown", scope: "any" },
    defaultTier: "T3",
    held: failed.message,
    changesFiles: true,
    learnedRule: null,
  };
}
