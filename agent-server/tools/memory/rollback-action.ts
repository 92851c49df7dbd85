import type { ActionContext } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { MemoryCommit } from "../../contract/memory.ts";
import type { Memory, RollbackRequest, RolledBack } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import type { IntentSpec } from "../../execution/execution.ts";
import { authorOf, clean, judged, type MemoryAction, memoryStep } from "./memory-action.ts";
import { verifyCommit } from "./verify-commit.ts";

/** Characters of restored text per policy step; longer texts are split. */
const stepCharacters = 50_000;

/** Rolls a commit back. Restored texts are authorized like new ones; another author's commit requires approval. */
export function createRollbackAction({ memory, redactor }: { readonly memory: Memory; readonly redactor: Redactor }) {
  /** The current commits that a request refers to. */
  function targetCommits(request: RollbackRequest): MemoryCommit[] {
    return "commitId" in request ? [memory.commit(request.commitId)] : memory.lastCommits(request.last);
  }

  return (request: RollbackRequest, caller: ActionContext): MemoryAction<RolledBack> => {
    const commits = targetCommits(request);
    const own = commits.every(({ author, questId }) => author === "agent" && questId !== null && questId === caller.quest);
    const only = "commitId" in request ? request.itemIds : undefined;
    const changes = commits.flatMap(({ diff }) => diff).filter(({ itemId }) => only === undefined || only.includes(itemId));
    const named =
      "commitId" in request ? { commitId: request.commitId, ...(only === undefined ? {} : { itemIds: only }) } : { last: request.last };
    const step = (more: Record<string, unknown>): IntentSpec => memoryStep(caller, { op: "rollback", ...named, ...more }, redactor);
    const [first, ...others] = chunks(changes.flatMap(({ before }) => (before === null ? [] : [before])));
    return {
      name: "memory.rollback",
      inputs: clean({ ...named, reason: request.reason }, redactor),
      steps: [
        step({ foreign: !own, items: changes.length, content: first }),
        // Only the first step asks; the others are only authorized.
        ...others.map((content, part) => step({ foreign: false, content, part: part + 1 })),
      ],
      question: {
        title: `Roll back ${"commitId" in request ? `memory commit ${request.commitId}` : `the last ${request.last} memory commits`}`,
        detail: clean(
          [
            `Why: ${request.reason}`,
            ...changes.slice(0, 50).map(({ target, before, after }) => `${target}\n- ${after ?? "(nothing)"}\n+ ${before ?? "(nothing)"}`),
          ].join("\n\n"),
          redactor,
        ),
      },
      run: (receiptId) =>
        judged(() => {
          if (
            targetCommits(request)
              .map(({ id }) => id)
              .join() !== commits.map(({ id }) => id).join()
          )
            throw new LancelotError(
              "conflict",
              "Another commit was finished meanwhile, so nothing was rolled back. Check it and try again.",
            );
          return memory.rollback(request, authorOf(caller), receiptId);
        }),
      outputs: ({ commitId, rolledBack, diff }) => ({ commitId, rolledBack: [...rolledBack], items: diff.map(({ itemId }) => itemId) }),
      verify: ({ commitId, diff }) => (commitId === null ? null : verifyCommit(memory, commitId, diff)),
    };
  };
}

/** Joins texts up to the length that one policy step accepts. */
function chunks(texts: readonly string[]): (string | undefined)[] {
  const made: string[] = [];
  for (const text of texts) {
    const last = made.at(-1);
    if (last !== undefined && last.length + text.length < stepCharacters) made[made.length - 1] = `${last}\n${text}`;
    else made.push(text);
  }
  return made.length === 0 ? [undefined] : made;
}
