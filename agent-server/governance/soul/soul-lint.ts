import type { SoulIssue } from "../../contract/soul.ts";
import type { SoulSubject } from "../decision-facts.ts";
import { type Place, type ReadSoul, readSoul } from "./soul-document.ts";
import { covers, type SoulTerms, wordsOf } from "./soul-terms.ts";

/** Where the owner can be asked. */
const channels = ["war_room", "chat", "notification", "terminal"];
const escalations = ["skip_and_log", "stop_task"];

// The invariants are published, so their words stand here and not in a table that can be edited.
const deleting = /^(?:delet|destroy|destruct|drop|remov|eras|wip(?:e|ing)|purg|unlink)/;
const deploying = /^(?:deploy|rollout|golive)/;
const everything = new Set(["everything", "anything", "all", "all_actions", "every_action"]);
const degradation = ["suppress", "silent", "degrad", "error", "fail"];

/** What a soul must hold for approval, with the tags such an action has at the gate. */
const mustBeHeld: readonly { readonly what: string; readonly word: RegExp; readonly subject: SoulSubject }[] = [
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
 * Checks a soul: its schema (rule `schema`), the five invariants by their published names, and terms that match nothing
 * (`unknown_term`). A critical issue means that it cannot be activated. Never throws.
 * @param terms without them no term is called unknown
 */
export function lintSoul(yaml: string, terms?: SoulTerms): SoulIssue[] {
  try {
    return lintRead(readSoul(yaml), terms);
  } catch {
    return [{ rule: "schema", severity: "critical", message: "The text cannot be read as a soul." }];
  }
}

export function isCritical(issues: readonly SoulIssue[]): boolean {
  return issues.some((issue) => issue.severity === "critical");
}

/** The rules over a soul that was read; they say what they can of one that does not fit the schema. */
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

  for (const { what, word, subject } of mustBeHeld) {
    const named = requires.some(({ text }) => everything.has(wordsOf(text).join("_")) || wordsOf(text).some((one) => word.test(one)));
    const held = terms === undefined || requires.some(({ text }) => isHeld(terms, text, subject));
    if (!named || !held) {
      add(
        "destructive_actions_require_approval",
        "critical",
        ["autonomy_posture", "requires_approval"],
        `requires_approval must name ${what}: what destroys, and what goes live, waits for the owner.`,
      );
    }
  }
  for (const { text, index } of allowed) {
    if (!wordsOf(text).some((word) => deleting.test(word) || deploying.test(word))) continue;
    add(
      "destructive_actions_require_approval",
      "critical",
      ["autonomy_posture", "allowed_autonomous", index],
      `"${text}" destroys or deploys, so it cannot be allowed without asking. Take it out of allowed_autonomous.`,
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
      "scheduling_boundaries.no_autonomous_irreversible must be true: a job does nothing irreversible by itself.",
    );
  }

  const approval = mapAt(raw, "approval_rules");
  const asked = textsAt(approval, "channels");
  if (asked.every(({ text }) => text.trim() === "")) {
    add(
      "approval_channels_required",
      "critical",
      ["approval_rules", "channels"],
      `approval_rules.channels must name at least one place to ask the owner: ${channels.join(", ")}.`,
    );
  }

  if (textsAt(raw, "memory_ethics").length === 0) {
    add("memory_ethics_required", "warning", ["memory_ethics"], "memory_ethics should say what memory may not hold.");
  }

  for (const { text, index } of asked) {
    if (text.trim() === "" || channels.includes(text)) continue;
    add(
      "unknown_term",
      "warning",
      ["approval_rules", "channels", index],
      `"${text}" is no place to ask: there are ${channels.join(", ")}.`,
    );
  }
  const escalation = approval?.["escalation_on_timeout"];
  if (typeof escalation === "string" && !escalations.includes(escalation)) {
    add(
      "unknown_term",
      "warning",
      ["approval_rules", "escalation_on_timeout"],
      `"${escalation}" is not known, so skip_and_log is used. There are ${escalations.join(" and ")}.`,
    );
  }
  if (terms !== undefined) issues.push(...unknownTerms(soul, raw, terms));
  return issues;
}

function isHeld(terms: SoulTerms, term: string, subject: SoulSubject): boolean {
  const coverage = terms.holds(term);
  return coverage !== null && covers(coverage, subject);
}

/** Terms that match nothing: what the owner meant by them is not enforced. */
function unknownTerms(soul: ReadSoul, raw: Readonly<Record<string, unknown>>, terms: SoulTerms): SoulIssue[] {
  const issues: SoulIssue[] = [];
  const say = (path: readonly (string | number)[], message: string) =>
    issues.push({ rule: "unknown_term", severity: "warning", message, ...soul.placeOf(path) });
  const posture = mapAt(raw, "autonomy_posture");
  for (const { text, index } of textsAt(posture, "allowed_autonomous")) {
    if (terms.permits(text) !== null) continue;
    say(
      ["autonomy_posture", "allowed_autonomous", index],
      `"${text}" names no kind of action exactly, so it permits nothing. Take a name such as read_files or file_ops.write.`,
    );
  }
  for (const { text, index } of textsAt(posture, "requires_approval")) {
    if (terms.holds(text) !== null) continue;
    say(["autonomy_posture", "requires_approval", index], `No word of "${text}" names an act, so it holds nothing for approval.`);
  }
  const rules = raw["risk_rules"];
  if (!Array.isArray(rules)) return issues;
  for (const [index, rule] of rules.entries()) {
    if (typeof rule !== "object" || rule === null) continue;
    const fields = rule as Record<string, unknown>;
    const name = fields["name"];
    const about = fields["applies_to"];
    if (fields["enforced"] === false || typeof name !== "string") continue;
    if (!Array.isArray(about)) {
      if (terms.holds(name) === null)
        say(
          ["risk_rules", index, "name"],
          `No word of "${name}" names an act, so the rule asks for nothing. Say what it is about with applies_to.`,
        );
      continue;
    }
    for (const { text, index: at } of textsAt(fields, "applies_to")) {
      if (terms.holds(text) === null)
        say(["risk_rules", index, "applies_to", at], `No word of "${text}" names an act, so the rule does not see it.`);
    }
  }
  return issues;
}

function mapAt(of: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> | null {
  const value = of[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}

/** The texts of a list, with their places in it; none where there is no list. */
function textsAt(of: Readonly<Record<string, unknown>> | null, name: string): { text: string; index: number }[] {
  const value = of?.[name];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown, index) => (typeof item === "string" ? [{ text: item, index }] : []));
}
