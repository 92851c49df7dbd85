import type { SoulIssue } from "../../contract/soul.ts";
import type { SoulSubject } from "../decision-facts.ts";
import { type Place, type ReadSoul, readSoul } from "./soul-document.ts";
import { covers, type SoulTerms, wordsOf } from "./soul-terms.ts";

/** The approval channels. */
const channels = ["war_room", "chat", "notification", "terminal"];
const escalations = ["skip_and_log", "stop_task"];
/** Escalations that ask for an approval nobody gave. No code honors them, but a constitution must not promise them. */
const approving = /approv|allow|accept|grant|permit|proceed|consent|confirm|agree|execute|run|^(?:yes|ok|go)$/i;
/** A text that shows something: a letter or digit that is not one of the invisible ones (fillers, joiners). */
const visible = /(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{N}]/u;
const isBlank = (text: string): boolean => !visible.test(text);

// The invariants are published, so their terms are code and not an editable table.
const deleting = /^(?:delet|destroy|destruct|drop|remov|eras|wip(?:e|ing)|purg|unlink)/;
const deploying = /^(?:deploy|rollout|golive)/;
const everything = new Set(["everything", "anything", "all", "all_actions", "every_action"]);
const degradation = ["suppress", "silent", "degrad", "error", "fail"];

/** Actions that must require approval, with the tags they have at the gate. */
const mandatoryApprovals: readonly { readonly what: string; readonly word: RegExp; readonly subject: SoulSubject }[] = [
  {
    what: "deleting (delete, destroy, drop, remove, …)",
    word: deleting,
    subject: { kind: "delete_files", capability: "file_ops", action: "delete", tags: ["write", "delete"] },
  },
  {
    what: "deploying (deploy)",
    word: deploying,
    subject: { kind: "deploy", capability: "deploy_ops", action: "deploy", tags: ["deploy"] },
  },
];

/**
 * Lints a soul: its schema (rule `schema`), the five invariants by their published names, and terms that match nothing
 * (`unknown_term`). A soul with a critical issue cannot be activated. Never throws.
 * @param terms without them, `unknown_term` is not checked
 */
export function lintSoul(yaml: string, terms?: SoulTerms): SoulIssue[] {
  try {
    return lintRead(readSoul(yaml), terms);
  } catch {
    return [{ rule: "schema", severity: "critical", message: "The text is not a valid soul." }];
  }
}

export function isCritical(issues: readonly SoulIssue[]): boolean {
  return issues.some((issue) => issue.severity === "critical");
}

/** Lints a parsed soul. Checks what it can when the soul has schema errors. */
export function lintRead(soul: ReadSoul, terms?: SoulTerms): SoulIssue[] {
  const { raw } = soul;
  if (raw === null) return [...soul.issues];
  const posture = mapAt(raw, "autonomy_posture");
  const requires = textsAt(posture, "requires_approval");
  const allowed = textsAt(posture, "allowed_autonomous");
  const issues: SoulIssue[] = [...soul.issues];
  const add = (rule: string, severity: SoulIssue["severity"], path: readonly (string | number)[], message: string) => {
    const place: Place = soul.placeOf(path);
    issues.push({ rule, severity, message, ...place });
  };

  for (const name of ["mission", "allegiance"]) {
    const text = raw[name];
    // An empty text is a schema error already.
    if (typeof text === "string" && text !== "" && isBlank(text))
      add("blank_text", "critical", [name], `"${name}" is blank. It leads every prompt, so it must say something.`);
  }
  for (const path of blankEntries(raw))
    add("blank_text", "warning", path, "This entry is blank and has no effect. Write it out or remove it.");

  for (const { what, word, subject } of mandatoryApprovals) {
    const named = requires.some(({ text }) => everything.has(wordsOf(text).join("_")) || wordsOf(text).some((one) => word.test(one)));
    const covered = terms === undefined || requires.some(({ text }) => requiresApproval(terms, text, subject));
    if (!named || !covered) {
      add(
        "destructive_actions_require_approval",
        "critical",
        ["autonomy_posture", "requires_approval"],
        `requires_approval must name ${what}: destructive actions and deployments require approval.`,
      );
    }
  }
  for (const { text, index } of allowed) {
    if (!wordsOf(text).some((word) => deleting.test(word) || deploying.test(word))) continue;
    add(
      "destructive_actions_require_approval",
      "critical",
      ["autonomy_posture", "allowed_autonomous", index],
      `"${text}" covers destructive actions or deployments, which always require approval. Remove it from allowed_autonomous.`,
    );
  }

  const tone = textsAt(raw, "tone_invariants").map(({ text }) => text.toLowerCase());
  if (degradation.filter((stem) => tone.some((text) => text.includes(stem))).length < 2) {
    add(
      "no_silent_degradation",
      "critical",
      ["tone_invariants"],
      "tone_invariants must forbid silent degradation: name at least two of suppress, silent, degrade, error, failure.",
    );
  }

  const scheduling = mapAt(raw, "scheduling_boundaries");
  if (scheduling === null || (scheduling["no_autonomous_irreversible"] ?? true) !== true) {
    add(
      "scheduling_no_autonomous_irreversible",
      "critical",
      ["scheduling_boundaries", "no_autonomous_irreversible"],
      "scheduling_boundaries.no_autonomous_irreversible must be true: jobs require approval for irreversible actions.",
    );
  }

  const approval = mapAt(raw, "approval_rules");
  const asked = textsAt(approval, "channels");
  if (asked.every(({ text }) => isBlank(text))) {
    add(
      "approval_channels_required",
      "critical",
      ["approval_rules", "channels"],
      `approval_rules.channels must name at least one approval channel: ${channels.join(", ")}.`,
    );
  }

  if (textsAt(raw, "memory_ethics").every(({ text }) => isBlank(text))) {
    add("memory_ethics_required", "warning", ["memory_ethics"], "memory_ethics should say what memory must not store.");
  }

  for (const { text, index } of asked) {
    if (isBlank(text) || channels.includes(text)) continue;
    add(
      "unknown_term",
      "warning",
      ["approval_rules", "channels", index],
      `"${text}" is not an approval channel. Use one of ${channels.join(", ")}.`,
    );
  }
  const escalation = approval?.["escalation_on_timeout"];
  if (typeof escalation === "string" && approving.test(escalation)) {
    add(
      "no_approval_by_timeout",
      "critical",
      ["approval_rules", "escalation_on_timeout"],
      `"${escalation}" would approve without an answer. Only you can approve. Use ${escalations.join(" or ")}.`,
    );
  } else if (typeof escalation === "string" && !escalations.includes(escalation)) {
    add(
      "unknown_term",
      "warning",
      ["approval_rules", "escalation_on_timeout"],
      `"${escalation}" is unknown, so skip_and_log applies. Use ${escalations.join(" or ")}.`,
    );
  }
  if (terms !== undefined) issues.push(...unknownTerms(soul, raw, terms));
  return issues;
}

function requiresApproval(terms: SoulTerms, term: string, subject: SoulSubject): boolean {
  const coverage = terms.approvalCoverage(term);
  return coverage !== null && covers(coverage, subject);
}

/** Terms that match nothing and are therefore not enforced. */
function unknownTerms(soul: ReadSoul, raw: Readonly<Record<string, unknown>>, terms: SoulTerms): SoulIssue[] {
  const issues: SoulIssue[] = [];
  const report = (path: readonly (string | number)[], message: string) =>
    issues.push({ rule: "unknown_term", severity: "warning", message, ...soul.placeOf(path) });
  const posture = mapAt(raw, "autonomy_posture");
  for (const { text, index } of textsAt(posture, "allowed_autonomous")) {
    if (isBlank(text)) continue;
    if (terms.autonomousCoverage(text) !== null) continue;
    report(
      ["autonomy_posture", "allowed_autonomous", index],
      `"${text}" is not an exact action name, so it permits nothing. Use a name such as read_files or file_ops.write.`,
    );
  }
  for (const { text, index } of textsAt(posture, "requires_approval")) {
    if (isBlank(text)) continue;
    if (terms.approvalCoverage(text) !== null) continue;
    report(["autonomy_posture", "requires_approval", index], `"${text}" matches no action, so it has no effect.`);
  }
  const rules = raw["risk_rules"];
  if (!Array.isArray(rules)) return issues;
  for (const [index, rule] of rules.entries()) {
    if (typeof rule !== "object" || rule === null) continue;
    const fields = rule as Record<string, unknown>;
    const name = fields["name"];
    const appliesTo = fields["applies_to"];
    if (fields["enforced"] === false || typeof name !== "string") continue;
    if (!Array.isArray(appliesTo)) {
      if (!isBlank(name) && terms.approvalCoverage(name) === null)
        report(["risk_rules", index, "name"], `"${name}" matches no action, so the rule has no effect. Name the actions in applies_to.`);
      continue;
    }
    for (const { text, index: at } of textsAt(fields, "applies_to")) {
      if (!isBlank(text) && terms.approvalCoverage(text) === null)
        report(["risk_rules", index, "applies_to", at], `"${text}" matches no action, so it has no effect.`);
    }
  }
  return issues;
}

/** Places of list entries and rule names that show nothing. */
function blankEntries(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value === "string") {
    const isEntry = typeof path.at(-1) === "number" || (path[0] === "risk_rules" && path.at(-1) === "name");
    return isEntry && value !== "" && isBlank(value) ? [[...path]] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  const parts: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.flatMap(([key, part]) => blankEntries(part, [...path, key]));
}

function mapAt(of: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> | null {
  const value = of[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}

/** The strings of a list with their indexes; empty when the field is not a list. */
function textsAt(of: Readonly<Record<string, unknown>> | null, name: string): { text: string; index: number }[] {
  const value = of?.[name];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index) => (typeof item === "string" ? [{ text: item, index }] : []));
}
