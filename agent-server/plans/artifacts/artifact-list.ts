import { splitAnswer } from "../../contract/answer-sections.ts";
import { type Artifact, isAnswer, sectionId } from "../../contract/artifacts.ts";
import type { Message, ReasoningPart } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Handlers, Params, Result } from "../../contract/table.ts";
import type { Quests } from "../../quests/quests.ts";
import type { ListedPlan, PlanStore } from "../plan-store.ts";
import { listOf, planText } from "./plan-text.ts";

/** Messages and plans that are read at a time, and at most for one page. A search without a hit returns an empty page with a cursor. */
const batch = 100;
const maxRead = 1_000;
/** Characters of a page after which it ends; a single artifact can be longer. */
const maxPageCharacters = 1_000_000;
const maxTitle = 120;

/** A message or a plan with its artifacts. */
interface Source {
  readonly at: string;
  readonly id: string;
  readonly artifacts: () => Artifact[];
}

/** A place in the list: artifacts of the source before `index` were returned. */
interface Position {
  readonly at: string;
  readonly id: string;
  readonly index: number;
}

/** Implements the artifact method of the contract on stored messages and plans. They were redacted when they were stored. */
export function artifactHandlers(of: {
  quests: Pick<Quests, "answers">;
  store: Pick<PlanStore, "page">;
}): Pick<Handlers, Extract<keyof Handlers, `artifacts.${string}`>> {
  /** The next sources, newest first. */
  function sources(questId: string | null, from: Position | null): Source[] {
    const query = { questId, from, limit: batch };
    return [...of.quests.answers(query).map(messageSource), ...of.store.page(query).map(planSource)]
      .sort((one, other) => compare(other.at, one.at) || compare(other.id, one.id))
      .slice(0, batch);
  }

  return {
    "artifacts.list": ({ questId, query = "", limit, cursor }) =>
      listArtifacts((from) => sources(questId ?? null, from), { query, limit, cursor }),
  };
}

function listArtifacts(
  next: (from: Position | null) => Source[],
  { query, limit, cursor }: Pick<Params<"artifacts.list">, "query" | "limit" | "cursor">,
): Result<"artifacts.list"> {
  const words = (query ?? "")
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const items: Artifact[] = [];
  let characters = 0;
  let position = cursor === undefined ? null : parsePosition(cursor);
  for (let read = 0; read < maxRead; ) {
    const found = next(position);
    for (const { at, id, artifacts } of found) {
      const all = artifacts();
      const first = position?.at === at && position.id === id ? position.index : 0;
      for (const [index, artifact] of all.entries()) {
        if (index < first || !hasWords(artifact, words)) continue;
        if (items.length === limit || (items.length > 0 && characters + artifact.text.length > maxPageCharacters))
          return { items, nextCursor: toCursor({ at, id, index }) };
        items.push(artifact);
        characters += artifact.text.length;
      }
      position = { at, id, index: all.length };
    }
    if (found.length < batch) return { items };
    read += found.length;
  }
  return position === null ? { items } : { items, nextCursor: toCursor(position) };
}

function messageSource({ message, questTitle }: ReturnType<Quests["answers"]>[number]): Source {
  return { at: message.createdAt, id: message.id, artifacts: () => artifactsOf(message, questTitle) };
}

function planSource({ plan, questTitle }: ListedPlan): Source {
  const { id, questId, createdAt: at, status: planStatus } = plan;
  const artifact = (): Artifact => ({
    ...{ id: `plan:${id}`, questId, questTitle, kind: "plan", at, planStatus },
    ...{ title: plan.goal, text: planText(plan) },
  });
  return { at, id, artifacts: () => [artifact()] };
}

function artifactsOf(message: Message, questTitle: string): Artifact[] {
  const common = { questId: message.questId, questTitle, at: message.createdAt, messageId: message.id };
  const hasSections = isAnswer(message);
  return message.parts.flatMap((part, partIndex): Artifact[] => {
    if (part.type === "reasoning")
      return [{ ...common, id: `reasoning:${message.id}:${partIndex}`, kind: "reasoning", ...reasoningTexts(part) }];
    if (part.type !== "text" || !hasSections) return [];
    return splitAnswer(part.text).sections.map((section, index) => ({
      ...common,
      ...{ id: sectionId(message.id, partIndex, index), kind: "section", ...section },
    }));
  });
}

function reasoningTexts({ strategy, risks, gaps }: ReasoningPart): Pick<Artifact, "title" | "text"> {
  const line = strategy.split("\n").find((one) => one.trim() !== "") ?? "";
  return {
    title: line.trim().slice(0, maxTitle).toWellFormed(),
    text: [strategy, ...listOf("Risks", risks), ...listOf("Missing capabilities", gaps)].join("\n\n"),
  };
}

function hasWords({ title, questTitle, text }: Artifact, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const searched = `${title}\n${questTitle}\n${text}`.toLowerCase();
  return words.every((word) => searched.includes(word));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function toCursor({ at, id, index }: Position): string {
  return Buffer.from(JSON.stringify([at, id, index])).toString("base64url");
}

/** @throws LancelotError `invalid_params` for a cursor that `toCursor` did not create. */
function parsePosition(cursor: string): Position {
  try {
    const [at, id, index] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof at === "string" && typeof id === "string" && typeof index === "number") return { at, id, index };
  } catch {
    // Falls through to the error below.
  }
  throw new LancelotError("invalid_params", "The cursor is not valid for this list. Start from the first page.");
}
