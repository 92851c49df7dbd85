import type { Sanitizer } from "../../security/security.ts";
import { encodedRuns, mirrors, plainForms } from "./encodings.ts";
import { isOwnersHand, type Passing, refuse, type Step } from "./verdict.ts";

/** The rules of the sanitizer, and those of memory; null: none. */
export interface InjectionRules {
  readonly sanitizer: Sanitizer | null;
  readonly orders: Sanitizer | null;
}

/** What a text holds beside facts. */
export interface Injections {
  /** Parts of a prompt: marks of roles, of data, of tool calls. */
  readonly syntax: readonly string[];
  /** Words that would put somebody in the owner's place. */
  readonly overrides: readonly string[];
  /** Orders and rules. */
  readonly orders: readonly string[];
}

const maxDecoded = 40;
const alternatives = ["Say it as a fact, not as an order.", "Let the owner say “remember that …” themselves."];

/**
 * The sixth gate. What plays a part of a prompt, or speaks in the owner's place, is kept from nobody but the owner's own hand, and
 * not in a core block; orders and rules are the owner's alone to give: with their words as evidence they wait in quarantine, without
 * them they enter neither core nor archival memory. Working and episodic memory may hold them: they are compiled as data.
 */
export function checkInjection(passing: Passing, rules: InjectionRules): Step {
  const { edit, verified } = passing;
  const isCore = edit.target.startsWith("core:");
  const found = findInjections(
    [edit.content ?? "", edit.tags.join(" "), edit.tags.join(""), edit.provenance.ref ?? "", edit.selector ?? ""],
    rules,
  );
  if (isOwnersHand(passing)) {
    if (found.syntax.length > 0 && isCore)
      return refuse(
        "memory.injection",
        `It holds parts of a prompt (${list(found.syntax)}), which no core block may hold.`,
        "Say it in plain words.",
      );
    const untold = [...found.syntax, ...found.overrides];
    if (untold.length === 0) return passing;
    const note = `It reads like an order to a model (${list(untold)}), so it is kept for you and told to no model. Say it in other words to have it used.`;
    return { ...passing, notes: [...passing.notes, note] };
  }
  if (found.syntax.length > 0)
    return refuse("memory.injection", `It holds parts of a prompt (${list(found.syntax)}). Only facts are remembered.`, ...alternatives);
  if (found.overrides.length > 0)
    return refuse(
      "memory.injection",
      `It reads like an attempt to give orders past the owner (${list(found.overrides)}). Only facts are remembered.`,
      ...alternatives,
    );

  let step = withFairReason(passing, rules);
  if (found.orders.length === 0) return step;
  if (!isCore && edit.target !== "archival")
    return { ...step, notes: [...step.notes, "It reads like an order; it is kept as data, which gives none."] };
  if (!verified)
    return refuse(
      "memory.injection",
      `It gives orders instead of stating facts (${list(found.orders)}), and the owner's words that would support it are not named.`,
      ...alternatives,
    );
  if (isCore) step = { ...step, why: "It is a rule for every task from now on." };
  return { ...step, notes: [...step.notes, "It is a rule rather than a fact; it holds because the owner said so."] };
}

/** The reason is read by the owner when they decide: it must not speak for them. */
function withFairReason(passing: Passing, rules: InjectionRules): Passing {
  const found = findInjections([passing.edit.reason], { sanitizer: rules.sanitizer, orders: rules.orders });
  if (found.syntax.length === 0 && found.overrides.length === 0) return passing;
  return {
    ...passing,
    edit: { ...passing.edit, reason: "The reason that was given read like an order and was left out." },
    notes: [...passing.notes, "The reason read like an order and was left out."],
  };
}

/** What is found in texts, in any of the forms they can be read in. */
export function findInjections(texts: readonly string[], { sanitizer, orders }: InjectionRules): Injections {
  const found = { syntax: new Set<string>(), overrides: new Set<string>(), orders: new Set<string>() };
  const readings = new Set(texts.filter((text) => text.trim() !== "").flatMap((text) => readingsOf(text, 2)));
  for (const text of readings) {
    for (const { rule } of sanitizer?.inspect(text).findings ?? []) found.overrides.add(rule);
    for (const { rule } of orders?.inspect(text).findings ?? []) (rule.startsWith("order.") ? found.orders : found.syntax).add(rule);
  }
  return { syntax: [...found.syntax], overrides: [...found.overrides], orders: [...found.orders] };
}

/** The text as it is, joined, turned round, and what its encoded parts say. */
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

/** Words of a language it may be in: of a text that is turned round only when it was turned round before. */
function isLanguage(text: string): boolean {
  return new Set(text.match(smallWords)?.map((word) => word.toLowerCase())).size >= 2;
}

/** Letters and spaces, not what is left of bytes. */
function isReadable(text: string): boolean {
  const plain = text.match(/[\p{L}\p{N}\p{Zs}.,:;!?'"\n<>{}()[\]|/_-]/gu)?.length ?? 0;
  return plain / text.length > 0.9;
}

const list = (rules: readonly string[]): string => rules.slice(0, 5).join(", ");
