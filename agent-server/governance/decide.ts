import type { Tier } from "../contract/common.ts";
import type { Decision, Intent, Mode, Posture } from "../contract/governance.ts";
import type { ResolvedPath } from "./policy/paths.ts";
import { baseTier, type BaseTier } from "./tiers.ts";

type Rule = Decision["rules"][number];
type Found = Extract<ResolvedPath, { ok: true }>;

/** Everything a decision depends on beside the intent. */
export interface Facts {
  /** The path policy. */
  readonly resolve: (path: string) => ResolvedPath;
  /** The sentence of a rule that made a path sensitive. */
  readonly ruleMessage: (rule: string) => string;
  /** False in a restricted workspace. */
  readonly trusted: boolean;
  readonly posture: Posture;
  /** Why the workspace is too wide to be written without asking; null for an ordinary one. */
  readonly broad: string | null;
}

/** What a path contributes to a decision: where it lies and what is sensitive about it, not its name. */
type Scope =
  | { readonly kind: "refused"; readonly rule: string; readonly message: string }
  | {
      readonly kind: "found";
      readonly inside: boolean;
      /** The workspace itself, or a folder that contains it or the home. */
      readonly root: boolean;
      readonly special: boolean;
      readonly sensitive: "secret" | "protected" | null;
      readonly rule: string | null;
    };

/** An intent with its paths looked up. Two with the same `key` get the same decision. */
export interface Situation {
  readonly key: string;
  readonly base: BaseTier | null;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  /** The action changes files and names none. */
  readonly targetMissing: boolean;
}

/** The decision for an intent: pure, same intent and facts give the same decision. May throw what `facts.resolve` throws. */
export function decide(intent: Intent, facts: Facts): Decision {
  return judge(situate(intent, facts), facts);
}

/**
 * Looks up what the intent names: `path` (best as it was asked for, since its own name counts too) and `paths`, and the working
 * folder. They are judged as they resolve now; `absolute`, where the intent gives it, must be where `path` leads.
 */
export function situate(intent: Intent, facts: Facts): Situation {
  const base = baseTier(intent.capability, intent.action);
  const mode: Mode = intent.mode === "crusader" ? "crusader" : "normal";
  const scopes: Scope[] = [];
  let paths: unknown[] = [];
  if (base !== null && base.effect !== "none" && base.unavailable === undefined) {
    paths = namedPaths(intent);
    for (const path of paths) scopes.push(scopeOf(path, intent, facts));
  }
  const targetMissing = paths.length === 0 && base !== null && (base.effect === "write" || base.effect === "delete");
  let key = `${intent.capability}\n${intent.action}\n${mode}\n${facts.posture}\n${facts.trusted ? 1 : 0}${facts.broad === null ? 0 : 1}`;
  for (const scope of scopes) {
    key +=
      scope.kind === "refused" ? `\n!${scope.rule}` : `\n${scope.inside ? 1 : 0}${scope.root ? 1 : 0}${scope.special ? 1 : 0}${scope.rule}`;
  }
  return { key, base, mode, scopes, targetMissing };
}

function namedPaths(intent: Intent): unknown[] {
  const { path, paths } = intent.args;
  const named: unknown[] = path === undefined ? [] : [path];
  if (Array.isArray(paths)) named.push(...paths);
  else if (paths !== undefined) named.push(paths);
  if (intent.cwd !== undefined) named.push(intent.cwd);
  return named;
}

function scopeOf(path: unknown, intent: Intent, facts: Facts): Scope {
  if (typeof path !== "string") return { kind: "refused", rule: "path.type", message: "The path is not a text." };
  const resolved = facts.resolve(path);
  if (!resolved.ok) return { kind: "refused", rule: resolved.rule, message: resolved.message };
  const { absolute } = intent.args;
  if (absolute !== undefined && path === intent.args["path"] && absolute !== resolved.absolute) {
    return { kind: "refused", rule: "path.moved", message: "The path no longer leads where it led a moment ago." };
  }
  return {
    kind: "found",
    inside: resolved.inside,
    root: isRoot(resolved),
    special: resolved.type === "other",
    sensitive: resolved.sensitive,
    rule: resolved.rule,
  };
}

function isRoot(resolved: Found): boolean {
  return resolved.display === "." || /^(?:\/|[a-z]:\/?)$/i.test(resolved.display);
}

/** The decision for a situation. */
export function judge(situation: Situation, facts: Facts): Decision {
  const denial = policyDenial(situation, facts);
  if (denial !== null) return denial;
  const { base } = situation;
  if (base === null) {
    return decision(
      "ask",
      "T3",
      "high",
      [{ id: "tier.unknown", source: "tier", message: "This kind of action is not known, so it is treated as irreversible." }],
      ["Use one of the tools that are listed.", askOwner],
    );
  }
  const raised = raise(situation, base, facts);
  if (raised.length > 0 || base.tier === "T3") {
    const rules =
      raised.length > 0
        ? raised
        : [{ id: "tier.T3", source: "tier" as const, message: "What counts as irreversible waits for your approval." }];
    const secret = situation.scopes.some((scope) => scope.kind === "found" && scope.sensitive === "secret");
    return decision("ask", "T3", secret ? "critical" : "high", rules, askAlternatives(base));
  }
  return decision("allow", base.tier, base.tier === "T2" ? "medium" : "low", allowRules(situation, base, facts), []);
}

/** Policy: hard rules. Nothing after them can turn a denial into an allowance. */
function policyDenial(situation: Situation, facts: Facts): Decision | null {
  const { base } = situation;
  const changes = base !== null && (base.effect === "write" || base.effect === "delete");
  if (base?.unavailable !== undefined) {
    const { id, message, alternatives } = base.unavailable;
    return denied(base.tier, id, message, alternatives);
  }
  for (const scope of situation.scopes) {
    if (scope.kind === "refused")
      return denied("T3", scope.rule, scope.message, ["Name an ordinary file or folder by its path in the workspace.", askOwner]);
    if (scope.special) {
      return denied("T3", "path.special", "This is a device, a pipe or a socket, not a file.", ["Name an ordinary file."]);
    }
    if (changes && scope.rule?.startsWith("own.") === true) {
      return denied("T3", scope.rule, facts.ruleMessage(scope.rule), ["Ask the owner to change the setting by hand."], "critical");
    }
    if (base?.effect === "read" && scope.sensitive === "secret") {
      const rule = scope.rule ?? "secret";
      return denied(
        "T3",
        rule,
        `${facts.ruleMessage(rule)} Tools do not read them.`,
        [
          "Ask the owner to attach the file by hand; its secrets are taken out before it is sent.",
          "Read a template beside it, such as .env.example.",
        ],
        "critical",
      );
    }
    if (base?.effect === "delete" && scope.root) {
      return denied(
        "T3",
        "policy.destructive",
        "The workspace itself, or the whole disk, is never deleted.",
        ["Delete single files."],
        "critical",
      );
    }
  }
  if (changes && !facts.trusted) {
    return denied(base.tier, "policy.untrusted", "This workspace is restricted: nothing is written until you trust it.", [
      "Explain the change instead of making it.",
      "Ask the owner to trust the workspace.",
    ]);
  }
  return null;
}

/** What raises the tier to T3: scope and pattern. */
function raise(situation: Situation, base: BaseTier, facts: Facts): Rule[] {
  const rules: Rule[] = [];
  const add = (id: string, source: Rule["source"], message: string) => {
    if (!rules.some((rule) => rule.id === id)) rules.push({ id, source, message });
  };
  const changes = base.effect === "write" || base.effect === "delete";
  if (situation.targetMissing) add("tier.no-target", "tier", "It is not said which file this would change.");
  for (const scope of situation.scopes) {
    if (scope.kind === "refused") continue;
    if (!scope.inside) add("tier.outside", "tier", "This lies outside the workspace.");
    if (changes && scope.rule !== null)
      add(scope.rule, "policy", `${facts.ruleMessage(scope.rule)} It is changed with your approval only.`);
  }
  if (changes && facts.broad !== null) add("tier.broad-workspace", "tier", facts.broad);
  return rules;
}

function allowRules(situation: Situation, base: BaseTier, facts: Facts): Rule[] {
  const rules: Rule[] = [{ id: `tier.${base.tier}`, source: "tier", message: tierMessages[base.tier] }];
  if (base.effect !== "write") return rules;
  if (situation.mode === "crusader") {
    rules.push({
      id: "mode.crusader",
      source: "mode",
      message: "Crusader: edits in the workspace are applied after a checkpoint and can be undone.",
    });
  } else if (facts.posture === "autonomous") {
    rules.push({ id: "mode.autonomous", source: "mode", message: "Edits are applied after a checkpoint and can be undone." });
  } else {
    rules.push({ id: "mode.supervised", source: "mode", message: "Edits wait for your review." });
  }
  return rules;
}

const tierMessages: Record<Tier, string> = {
  T0: "This only looks.",
  T1: "This can be undone.",
  T2: "This has effects that are checked afterwards.",
  T3: "This counts as irreversible.",
};

const askOwner = "Ask the owner.";

function askAlternatives(base: BaseTier): string[] {
  switch (base.effect) {
    case "read":
      return ["Read a file inside the workspace instead.", "Ask the owner to attach what is needed."];
    case "write":
      return ["Make the change in an ordinary file inside the workspace.", "Show the owner the change and let them make it."];
    case "delete":
      return ["Leave the file and say that it is no longer needed.", "Empty the file by an edit, which can be undone."];
    case "none":
      return [askOwner];
  }
}

function denied(tier: Tier, id: string, message: string, alternatives: readonly string[], risk: Decision["riskLevel"] = "high"): Decision {
  return decision("deny", tier, risk, [{ id, source: "policy", message }], alternatives);
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
export function failedGate(): Decision {
  return denied(
    "T3",
    "policy.gate-failed",
    "The rules could not be applied, so this is refused.",
    ["Try a smaller step.", "Tell the owner; the log says what failed."],
    "critical",
  );
}
