import type { ToolPart } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import { foldText } from "../text-key.ts";
import type { Memory, MemoryActions } from "../types.ts";
import { learnedCommands } from "./learned-commands.ts";

const limits = { proposals: 5, commits: 50, quarantine: 200, known: 8 };

/** A quest that ended, with its new tool calls. */
export interface FinishedQuest {
  readonly questId: string;
  readonly calls: readonly ToolPart[];
  /** ISO time of the last look at this quest; empty before the first. */
  readonly after: string;
}

/** Contents that a quest left in memory, and those that wait in quarantine for the owner. */
export interface QuestProposals {
  readonly saved: readonly string[];
  readonly pending: readonly string[];
}

/**
 * Saves the project's commands that worked in a quest, with their receipts as evidence, as one commit. Edits the model proposed itself
 * during the quest are reported when they wait for the owner. The gates judge every edit; those they refuse are left out.
 */
export async function proposeFromQuest(
  memory: Pick<Memory, "quarantine" | "commits" | "search">,
  { questId, calls, after }: FinishedQuest,
  actions: MemoryActions,
): Promise<QuestProposals> {
  const saved = await saveLearned(memory, questId, calls, actions);
  const pending = memory
    .quarantine({ status: "pending", limit: limits.quarantine })
    .flatMap(({ questId: of, createdAt, content }) => (of === questId && createdAt > after && content !== null ? [content] : []));
  return { saved, pending };
}

async function saveLearned(
  memory: Pick<Memory, "quarantine" | "commits" | "search">,
  questId: string,
  calls: readonly ToolPart[],
  actions: MemoryActions,
): Promise<string[]> {
  const settled = settledContents(memory);
  const learned = learnedCommands(calls).filter(({ content }) => {
    const known = memory.search({ query: content, limit: limits.known }, questId).items.map(({ item }) => foldText(item.content));
    return !settled.has(foldText(content)) && !known.includes(foldText(content));
  });
  if (learned.length === 0) return [];
  const { commitId } = await actions.begin({ questId, reason: "Commands that worked in a task." });
  let staged = 0;
  try {
    for (const { content, receiptId } of learned.slice(0, limits.proposals)) {
      try {
        const { outcome } = await actions.edit({
          ...{ commitId, op: "insert", target: "archival", namespace: "workspace", kind: "fact", content, confidence: 0.6 },
          reason: "The command ended without an error in this task.",
          provenance: { source: "tool", ref: `receipt:${receiptId}` },
        });
        if (outcome !== "reinforced") staged += 1;
      } catch (error) {
        // Refused by a gate or a limit; the receipt says why.
        if (!(error instanceof LancelotError) || error.code === "cancelled") throw error;
      }
    }
    if (staged === 0) {
      await actions.abandon(commitId);
      return [];
    }
    const { diff } = await actions.finish(commitId);
    return diff.flatMap(({ after }) => (after === null ? [] : [after]));
  } catch (error) {
    // The next start drops a commit that cannot be abandoned here.
    await actions.abandon(commitId).catch(() => undefined);
    throw error;
  }
}

/** Contents that are pending, were denied, deleted or rolled back: they are not proposed again. */
function settledContents(memory: Pick<Memory, "quarantine" | "commits">): Set<string> {
  const quarantined = (["pending", "denied"] as const).flatMap((status) => memory.quarantine({ status, limit: limits.quarantine }));
  const removed = memory
    .commits({ limit: limits.commits })
    .items.flatMap(({ diff }) => diff.flatMap(({ before, after }) => (after === null ? [before] : [])));
  return new Set(
    [...quarantined.map(({ content }) => content), ...removed].flatMap((content) => (content === null ? [] : [foldText(content)])),
  );
}
