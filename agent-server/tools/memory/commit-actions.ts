import type { ActionContext } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Author, Memory, Finished } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import { authorOf, clean, judged, type MemoryAction, memoryStep } from "./memory-action.ts";
import { verifyCommit, verifyQuarantined, verifyStaged } from "./verify-commit.ts";

export interface CommitActions {
  begin(reason: string, caller: ActionContext): MemoryAction<{ commitId: string }>;
  /** Without a commit it is one of its own. */
  edit(params: Params<"memory.edit">, caller: ActionContext): MemoryAction<Result<"memory.edit">>;
  /** Every staged edit is authorized again. */
  finish(commitId: string, caller: ActionContext): MemoryAction<Finished>;
  abandon(commitId: string, caller: ActionContext): MemoryAction<{ ok: true }>;
}

/** Commits as actions of the execution pipeline. */
export function createCommitActions({ memory, redactor }: { readonly memory: Memory; readonly redactor: Redactor }): CommitActions {
  const step = (caller: ActionContext, of: Parameters<typeof memoryStep>[1]) => memoryStep(caller, of, redactor);

  /** The author who continues an open commit. @throws LancelotError `denied` for another author's commit. */
  function inCommit(commitId: string, caller: ActionContext): Author {
    const { author } = memory.staged(commitId);
    if (caller.actor === "owner") return { by: "owner", questId: author.questId };
    if (author.by === caller.actor && author.questId === caller.quest) return author;
    throw new LancelotError("denied", `Commit ${commitId} was begun by another author.`, {
      data: { rule: "memory.not-yours", alternatives: ["Begin your own commit."] },
    });
  }

  return {
    begin: (reason, caller) => ({
      name: "memory.begin",
      inputs: clean({ reason }, redactor),
      steps: [step(caller, { op: "begin" })],
      question: { title: "Begin a memory commit", detail: clean(reason, redactor) },
      run: () => judged(() => memory.begin(authorOf(caller), reason)),
      outputs: ({ commitId }) => ({ commitId }),
      verify: ({ commitId }) => (memory.commit(commitId).id === commitId ? null : `Commit ${commitId} does not exist.`),
    }),

    edit(params, caller) {
      const { commitId, op, target, content, selector, reason, namespace } = params;
      const words = { insert: "Remember", replace: "Change", delete: "Forget", rethink: "Rewrite" }[op];
      const { commitId: _, ...edit } = params;
      return {
        name: "memory.edit",
        inputs: clean({ ...params }, redactor),
        steps: [step(caller, { op, target, content, selector, namespace, commitId })],
        question: {
          title: `${words} (${target})`,
          detail: clean(
            [content, selector === undefined ? undefined : `Of: ${selector}`, `Why: ${reason}`].filter(Boolean).join("\n\n"),
            redactor,
          ),
        },
        run: (receiptId) =>
          judged(() => {
            if (commitId !== undefined) {
              const staged = memory.edit(commitId, edit, inCommit(commitId, caller), receiptId);
              return { ...staged, notes: [...staged.notes], commitId, finished: false, diff: [] };
            }
            const author = authorOf(caller);
            const begun = memory.begin(author, reason).commitId;
            try {
              const staged = memory.edit(begun, edit, author, receiptId);
              const { diff } = memory.finish(begun, author, receiptId);
              return { ...staged, notes: [...staged.notes], commitId: begun, finished: true, diff: [...diff] };
            } catch (error) {
              drop(begun, author);
              throw error;
            }
          }),
        outputs: ({ commitId: id, outcome, target: to, quarantineId, notes, diff, finished }) => ({
          ...{ commitId: id, outcome, target: to, finished, notes: clean(notes, redactor) },
          ...(quarantineId === null ? {} : { quarantineId }),
          items: diff.map(({ itemId }) => itemId),
        }),
        verify: ({ commitId: id, index, content: kept, quarantineId, finished, diff }) => {
          if (quarantineId !== null) return verifyQuarantined(memory, quarantineId, kept);
          if (finished) return diff.length === 0 ? null : verifyCommit(memory, id, diff);
          return index === null ? null : verifyStaged(memory, id, index, kept);
        },
      };
    },

    finish(commitId, caller) {
      const { edits } = memory.staged(commitId);
      const judgedEdits = JSON.stringify(edits);
      const deletes = edits.filter(({ op }) => op === "delete").length;
      return {
        name: "memory.finish",
        inputs: { commitId, edits: edits.length },
        steps: [
          step(caller, { op: "finish", commitId, items: edits.length, deletes }),
          ...edits.map(({ op, target, content }, index) => step(caller, { op, target, content, commitId, index })),
        ],
        question: {
          title: `Apply memory commit: ${edits.length} ${edits.length === 1 ? "edit" : "edits"}`,
          detail: clean(
            edits.map(({ op, target, content, reason }) => `${op} (${target}): ${content ?? ""}\nWhy: ${reason}`).join("\n\n"),
            redactor,
          ),
        },
        run: (receiptId) =>
          judged(() => {
            if (JSON.stringify(memory.staged(commitId).edits) !== judgedEdits)
              throw new LancelotError(
                "conflict",
                "The commit changed while it was being authorized. Nothing was applied; finish it again.",
              );
            return memory.finish(commitId, inCommit(commitId, caller), receiptId);
          }),
        outputs: ({ diff, quarantined, receiptId }) => ({
          ...{ commitId, items: diff.map(({ itemId }) => itemId), commitReceiptId: receiptId },
          quarantined: quarantined.map(({ id }) => id),
        }),
        verify: ({ diff }) => verifyCommit(memory, commitId, diff),
      };
    },

    abandon(commitId, caller) {
      return {
        name: "memory.abandon",
        inputs: { commitId },
        steps: [step(caller, { op: "abandon", commitId })],
        question: { title: "Abandon a memory commit", detail: commitId },
        run: () =>
          judged(() => {
            memory.abandon(commitId, inCommit(commitId, caller));
            return { ok: true as const };
          }),
        outputs: () => ({ commitId }),
        verify: () => (memory.commit(commitId).status === "abandoned" ? null : `Commit ${commitId} was not abandoned.`),
      };
    },
  };

  /** Abandons the commit of a failed single edit. If this fails too, the next start does it. */
  function drop(commitId: string, author: Author): void {
    try {
      memory.abandon(commitId, author);
    } catch (error) {
      if (!(error instanceof LancelotError)) throw error;
    }
  }
}
