import type { Memory, ProposedEdit } from "../../memory/memory.ts";
import { workingCommands } from "./learned-commands.ts";
import { statementsIn } from "./memory-statements.ts";
import type { QuotedFact } from "./memory-quotes.ts";
import { userText } from "../quest-page.ts";
import type { StoredMessage } from "../stored-quest.ts";

/** From one task, at most. */
export const maxProposals = 5;
/** Commits that are looked at for what the owner took back, and memories for what is known. */
const looked = { commits: 50, known: 8, quarantine: 200 };

/** What a task may leave in memory. The gates still judge it. */
export type Proposal = Pick<ProposedEdit, "target" | "content" | "reason" | "confidence" | "provenance" | "kind" | "namespace"> & {
  readonly content: string;
};

/**
 * What these messages of a task have that is worth remembering, by rules alone: what the owner laid down, in their words, and commands of
 * the project that worked, by their receipts. What tools printed, and what pages and files say, is never taken.
 * @param suspicious ids of messages with words that read like orders past the owner: nothing is taken from them
 */
export function proposalsByRules(
  messages: readonly StoredMessage[],
  placeOf: Memory["placeOf"],
  suspicious: ReadonlySet<string>,
): Proposal[] {
  const said = messages
    .filter(({ message, turn }) => message.role === "user" && turn?.kind === "user" && !suspicious.has(message.id))
    .flatMap(({ message }) =>
      statementsIn(userText(message)).map((statement) =>
        ofTheOwner(statement.content, message.id, statement.confidence, placeOf, statement.kind),
      ),
    );
  const commands = workingCommands(messages).map(
    ({ content, receiptId }): Proposal => ({
      target: "archival",
      namespace: "workspace",
      kind: "fact",
      content,
      reason: "The command ended without an error in this task.",
      confidence: 0.6,
      provenance: { source: "tool", ref: `receipt:${receiptId}` },
    }),
  );
  return distinct([...said, ...commands]);
}

/** What a model found, as proposals; quoted by it and checked by code, and less sure than what a rule knows. */
export function proposalsOfModel(facts: readonly QuotedFact[], placeOf: Memory["placeOf"]): Proposal[] {
  return facts.map(({ content, messageId }) => ofTheOwner(content, messageId, 0.65, placeOf, "fact"));
}

function ofTheOwner(content: string, messageId: string, confidence: number, placeOf: Memory["placeOf"], kind: string): Proposal {
  const place = placeOf(content);
  return {
    ...(kind === "correction" ? { target: "archival" as const, kind: "fact" as const, namespace: "workspace" } : place),
    content,
    reason: kind === "correction" ? "The owner corrected this." : "The owner said so in this task.",
    confidence,
    provenance: { source: "user", ref: `message:${messageId}` },
  };
}

/** Those that are not known, do not wait in quarantine, and were not denied, forgotten or rolled back before. */
export function newProposals(
  memory: Pick<Memory, "quarantine" | "commits" | "search">,
  proposals: readonly Proposal[],
  questId: string,
): Proposal[] {
  if (proposals.length === 0) return [];
  const settled = new Set<string>();
  for (const status of ["pending", "denied"] as const)
    for (const { content } of memory.quarantine({ status, limit: looked.quarantine })) if (content !== null) settled.add(keyOf(content));
  for (const { diff } of memory.commits({ limit: looked.commits }).items)
    for (const { before, after } of diff) if (before !== null && after === null) settled.add(keyOf(before));
  return proposals.filter(({ content }) => {
    if (settled.has(keyOf(content))) return false;
    const known = memory.search({ query: content.slice(0, 500), limit: looked.known }, questId).items;
    return !known.some(({ item }) => keyOf(item.content) === keyOf(content) || saysSame(item.content, content));
  });
}

function distinct(proposals: readonly Proposal[]): Proposal[] {
  const seen = new Set<string>();
  return proposals.filter(({ content }) => {
    const key = keyOf(content);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** The same words in any case, order of spaces and final stop. */
function keyOf(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/\s+/g, " ")
    .replaceAll(/^[\s.!]+|[\s.!]+$/g, "");
}

/** One text has every word of the other. */
function saysSame(one: string, other: string): boolean {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  if (a.size < 2 || b.size < 2) return false;
  return [...a].every((word) => b.has(word)) && [...b].every((word) => a.has(word));
}

function wordsOf(text: string): Set<string> {
  return new Set(
    keyOf(text)
      .match(/[\p{L}\p{N}_./:-]+/gu)
      ?.map((word) => word.replace(/[.:]+$/, "")),
  );
}
