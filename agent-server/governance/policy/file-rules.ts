import type { Intent, Rule } from "../../contract/governance.ts";
import type { DecisionFacts } from "../decision-facts.ts";
import type { FileEffect } from "../base-tiers.ts";
import type { Tag } from "../action-vocabulary.ts";
import { policyFinding, askOwner, type PolicyFinding, type PolicyRule, type Denial, denial, rule } from "./policy-finding.ts";
import type { ResolvedPath } from "./path-policy.ts";

type Found = Extract<ResolvedPath, { ok: true }>;

/** What a path contributes to a decision: its location and sensitivity, not its name. */
type Scope =
  | { readonly kind: "refused"; readonly rule: string; readonly message: string }
  | {
      readonly kind: "found";
      readonly inside: boolean;
      /** The workspace itself, or a whole disk. */
      readonly root: boolean;
      readonly special: boolean;
      readonly sensitive: "secret" | "protected" | null;
      readonly rule: string | null;
    };

/** Policy for file paths: `path` (as requested, because its own name counts too), `paths` and the working folder. */
export const assessFiles: PolicyRule = (intent, base, facts) => assessPaths(intent, base.effect, facts, namedPaths(intent));

/**
 * Judges paths as they resolve now. The intent's `absolute`, if any, must equal where `path` leads.
 * @param paths the paths that `effect` applies to.
 */
export function assessPaths(intent: Intent, effect: FileEffect, facts: DecisionFacts, paths: readonly unknown[]): PolicyFinding {
  const scopes = effect === "none" ? [] : paths.map((path) => scopeOf(path, intent, facts));
  const changes = effect === "write" || effect === "delete";
  let key = "";
  for (const scope of scopes) {
    key +=
      scope.kind === "refused" ? `\n!${scope.rule}` : `\n${scope.inside ? 1 : 0}${scope.root ? 1 : 0}${scope.special ? 1 : 0}${scope.rule}`;
  }
  const sensitive = scopes.some((scope) => scope.kind === "found" && scope.rule !== null && (changes || scope.sensitive === "secret"));
  const outside = scopes.some((scope) => scope.kind === "found" && !scope.inside);
  const tags: Tag[] = [];
  if (outside) tags.push("outside");
  if (sensitive) tags.push("sensitive");
  return policyFinding({
    denial: pathDenial(scopes, effect, changes, facts),
    raises: pathRaises(scopes, changes, paths.length === 0, facts),
    tags,
    scope: sensitive ? "sensitive" : outside ? "outside" : "workspace",
    riskLevel: scopes.some((scope) => scope.kind === "found" && scope.sensitive === "secret") ? "critical" : null,
    alternatives: alternatives[effect],
    key,
  });
}

export function namedPaths(intent: Intent): unknown[] {
  const { path, paths } = intent.args;
  const named: unknown[] = path === undefined ? [] : [path];
  if (Array.isArray(paths)) named.push(...paths);
  else if (paths !== undefined) named.push(paths);
  if (intent.cwd !== undefined) named.push(intent.cwd);
  return named;
}

function scopeOf(path: unknown, intent: Intent, facts: DecisionFacts): Scope {
  if (typeof path !== "string") return { kind: "refused", rule: "path.type", message: "The path must be a string." };
  const resolved = facts.resolve(path);
  if (!resolved.ok) return { kind: "refused", rule: resolved.rule, message: resolved.message };
  const { absolute } = intent.args;
  if (absolute !== undefined && path === intent.args["path"] && absolute !== resolved.absolute) {
    return { kind: "refused", rule: "path.moved", message: "The path leads to a different place than before." };
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

function pathDenial(scopes: readonly Scope[], effect: FileEffect, changes: boolean, facts: DecisionFacts): Denial | null {
  for (const scope of scopes) {
    if (scope.kind === "refused")
      return denial(scope.rule, scope.message, ["Use the workspace path of a regular file or folder.", askOwner]);
    if (scope.special) return denial("path.special", "This is a device, pipe or socket, not a regular file.", ["Use a regular file."]);
    if (changes && scope.rule?.startsWith("own.") === true) {
      return denial(scope.rule, facts.ruleMessage(scope.rule), ["Ask the owner to change the setting by hand."], { riskLevel: "critical" });
    }
    if (effect === "read" && scope.sensitive === "secret") {
      const secret = scope.rule ?? "secret";
      return denial(
        secret,
        `${facts.ruleMessage(secret)} Tools cannot read secret files.`,
        [
          "Ask the owner to attach the file; its secrets are redacted before it is sent.",
          "Read a template next to it, such as .env.example.",
        ],
        { riskLevel: "critical" },
      );
    }
    if (effect === "delete" && scope.root) {
      return denial("policy.destructive", "Deletes the whole workspace or disk, which is never allowed.", ["Delete single files."], {
        riskLevel: "critical",
      });
    }
  }
  return null;
}

/** The rules on location and sensitivity that raise the tier to T3. */
function pathRaises(scopes: readonly Scope[], changes: boolean, noTarget: boolean, facts: DecisionFacts): Rule[] {
  const rules: Rule[] = [];
  const add = (one: Rule) => {
    if (!rules.some(({ id }) => id === one.id)) rules.push(one);
  };
  if (changes && noTarget) add(rule("tier.no-target", "The changed file is not specified.", "tier"));
  for (const scope of scopes) {
    if (scope.kind === "refused") continue;
    if (!scope.inside) add(rule("tier.outside", "Outside the workspace.", "tier"));
    if (changes && scope.rule !== null) add(rule(scope.rule, `${facts.ruleMessage(scope.rule)} Changing it requires your approval.`));
  }
  if (changes && facts.broad !== null) add(rule("tier.broad-workspace", facts.broad, "tier"));
  return rules;
}

const alternatives: Record<FileEffect, readonly string[]> = {
  none: [askOwner],
  read: ["Read a file inside the workspace instead.", "Ask the owner to attach the file."],
  write: ["Make the change in a regular file inside the workspace.", "Show the owner the change and let them make it."],
  delete: ["Keep the file and say that it is no longer needed.", "Empty the file with an edit, which can be undone."],
};
