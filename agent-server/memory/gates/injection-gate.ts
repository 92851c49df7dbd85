import type { Sanitizer } from "../../security/security.ts";
import { encodedRuns, mirrors, plainForms } from "./encoded-runs.ts";
import { isDirectOwnerEdit, type GateInput, refuse, type GateStep } from "./gate-step.ts";

/** The rules of the sanitizer and of memory; null: none. */
export interface InjectionRules {
  readonly sanitizer: Sanitizer | null;
  readonly instructions: Sanitizer | null;
}

/** Findings in a text. */
export interface Injections {
  /** Parts of a prompt: role marks, data marks, tool calls. */
  readonly syntax: readonly string[];
  /** Texts that claim the owner's authority. */
  readonly overrides: readonly string[];
  /** Instructions and rules. */
  readonly instructions: readonly string[];
}

const maxDecoded = 40;
const alternatives = ["State it as a fact, not as an instruction.", "Let the owner say “remember that …” themselves."];

/**
 * The sixth gate. Only the owner may write text that imitates a prompt or claims their authority, and
 * not in a core block. Instructions and rules need the owner's words as evidence and then wait in quarantine; without
 * it, core and archival memory refuse them. Working and episodic memory accept them, because they are compiled as data.
 */
export function checkInjection(input: GateInput, rules: InjectionRules): GateStep {
  const { edit, verified } = input;
  const isCore = edit.target.startsWith("core:");
  const found = findInjections(
    [edit.content ?? "", edit.tags.join(" "), edit.tags.join(""), edit.provenance.ref ?? "", edit.selector ?? ""],
    rules,
  );
  if (isDirectOwnerEdit(input)) {
    if (found.syntax.length > 0 && isCore)
      return refuse(
        "memory.injection",
        `It contains parts of a prompt (${list(found.syntax)}), which core blocks exclude.`,
        "State it in plain words.",
      );
    const imitations = [...found.syntax, ...found.overrides];
    if (imitations.length === 0) return input;
    const note = `It looks like an instruction to a model (${list(imitations)}), so it is saved but excluded from prompts. Rephrase it to include it.`;
    return { ...input, notes: [...input.notes, note] };
  }
  if (found.syntax.length > 0)
    return refuse("memory.injection", `It contains parts of a prompt (${list(found.syntax)}). Memory saves only facts.`, ...alternatives);
  if (found.overrides.length > 0)
    return refuse(
      "memory.injection",
      `It looks like an attempt to bypass the owner (${list(found.overrides)}). Memory saves only facts.`,
      ...alternatives,
    );

  let step = withFairReason(input, rules);
  if (found.instructions.length === 0) return step;
  if (!isCore && edit.target !== "archival")
    return { ...step, notes: [...step.notes, "It looks like an instruction; it is saved as data, which gives no instructions."] };
  if (!verified)
    return refuse(
      "memory.injection",
      `It gives instructions instead of stating facts (${list(found.instructions)}), without the owner's words as evidence.`,
      ...alternatives,
    );
  if (isCore) step = { ...step, why: "It is a rule for every future task." };
  return { ...step, notes: [...step.notes, "It is a rule, not a fact. It is saved because the user said it."] };
}

/** The owner reads the reason when they decide, so it must not contain instructions either. */
function withFairReason(input: GateInput, rules: InjectionRules): GateInput {
  const found = findInjections([input.edit.reason], { sanitizer: rules.sanitizer, instructions: rules.instructions });
  if (found.syntax.length === 0 && found.overrides.length === 0) return input;
  return {
    ...input,
    edit: { ...input.edit, reason: "The given reason looked like an instruction and was removed." },
    notes: [...input.notes, "The reason looked like an instruction and was removed."],
  };
}

/** Findings in texts, in each of their readings. */
export function findInjections(texts: readonly string[], { sanitizer, instructions }: InjectionRules): Injections {
  const found = { syntax: new Set<string>(), overrides: new Set<string>(), instructions: new Set<string>() };
  const readings = new Set(texts.filter((text) => text.trim() !== "").flatMap((text) => readingsOf(text, 2)));
  for (const text of readings) {
    for (const { rule } of sanitizer?.inspect(text).findings ?? []) found.overrides.add(rule);
    for (const { rule } of instructions?.inspect(text).findings ?? [])
      (rule.startsWith("order.") ? found.instructions : found.syntax).add(rule);
  }
  return { syntax: [...found.syntax], overrides: [...found.overrides], instructions: [...found.instructions] };
}

/** The text itself, joined, reversed, and decoded. */
function readingsOf(text: string, depth: number): string[] {
  const readings = [text, ...plainForms(text), ...mirrors.map(({ there }) => there(text)).filter(isLanguage)];
  if (depth === 0) return readings;
  const decoded = encodedRuns(text)
    .flatMap((run) => run.texts)
    .filter((one) => one.length >= 12 && isReadable(one))
    .slice(0, maxDecoded);
  return [...readings, ...decoded.flatMap((one) => readingsOf(one, depth - 1))];
}

const smallWords =
  /(?<![a-z])(?:the|you|and|all|to|from|in|of|a|is|run|ignore|always|never|owner|die|der|das|und|alle|immer|du|les|la|le|des|et|tous|tu|los|las|el|y|todos|siempre)(?![a-z])/gi;

/** True when it may be natural language. A text that only looks like language reversed was reversed before. */
function isLanguage(text: string): boolean {
  return new Set(text.match(smallWords)?.map((word) => word.toLowerCase())).size >= 2;
}

/** True for letters and spaces, in contrast to arbitrary bytes. */
function isReadable(text: string): boolean {
  const plain = text.match(/[\p{L}\p{N}\p{Zs}.,:;!?'"\n<>{}()[\]|/_-]/gu)?.length ?? 0;
  return plain / text.length > 0.9;
}

const list = (rules: readonly string[]): string => rules.slice(0, 5).join(", ");
