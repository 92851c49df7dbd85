import type { ActionContext } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { MemoryItem, MemoryJob, MemoryJobName } from "../../contract/memory.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Author, Memory } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import { authorOf, clean, judged, type MemoryAction, memoryStep } from "./memory-action.ts";
import { targetOf } from "./quarantine-actions.ts";
import { verifyCommit } from "./verify-commit.ts";

export interface OwnerActions {
  remember(params: Params<"memory.remember">, caller: ActionContext): MemoryAction<Result<"memory.remember">>;
  /** Deletes one item, found by `memory.meant` before. */
  forget(item: MemoryItem, caller: ActionContext): MemoryAction<Result<"memory.forget">>;
  import(params: Params<"memory.import">, caller: ActionContext): MemoryAction<Result<"memory.import">>;
  export(format: Params<"memory.export">["format"], caller: ActionContext): MemoryAction<Result<"memory.export">>;
  runJob(name: MemoryJobName, caller: ActionContext): MemoryAction<MemoryJob>;
}

/** Memory actions of the owner. */
export function createOwnerActions({ memory, redactor }: { readonly memory: Memory; readonly redactor: Redactor }): OwnerActions {
  /** A commit of one edit, abandoned when the edit is refused. */
  function alone(author: Author, reason: string, receiptId: string, edit: Parameters<Memory["edit"]>[1]) {
    const { commitId } = memory.begin(author, reason);
    try {
      const staged = memory.edit(commitId, edit, author, receiptId);
      return { commitId, staged, finished: memory.finish(commitId, author, receiptId) };
    } catch (error) {
      try {
        memory.abandon(commitId, author);
      } catch {
        // The next start abandons it; the first error matters more.
      }
      throw error;
    }
  }

  /** The existing item with this text. */
  function known(text: string, questId: string | null): MemoryItem | null {
    const same = (content: string) => content.trim().replaceAll(/\s+/g, " ").toLowerCase();
    const { item, candidates } = memory.meant(text, questId);
    const all = [...(item === null ? [] : [item]), ...candidates];
    return all.find(({ content }) => same(content) === same(text)) ?? item;
  }

  return {
    remember(params, caller) {
      const place = memory.placeOf(params.text);
      const target = params.target ?? place.target;
      const namespace = params.namespace ?? (params.target === undefined ? place.namespace : undefined);
      const reason = "The owner asked for it to be remembered.";
      return {
        name: "memory.remember",
        inputs: clean({ ...params, target }, redactor),
        steps: [memoryStep(caller, { op: "remember", target, namespace, content: params.text }, redactor)],
        question: { title: `Remember (${target})`, detail: clean(params.text, redactor) },
        run: (receiptId) =>
          judged(() => {
            const { commitId, staged, finished } = alone(authorOf(caller), reason, receiptId, {
              op: "insert",
              target,
              namespace,
              content: params.text,
              reason,
              confidence: 1,
              provenance: { source: "user" },
              tags: params.tags,
              kind: params.target === undefined ? place.kind : undefined,
            });
            const [changed] = finished.diff;
            const item = changed === undefined ? known(staged.content ?? params.text, caller.quest) : memory.item(changed.itemId).item;
            if (item === null) {
              const why = staged.quarantineId === null ? "it was not stored" : `it is quarantined as ${staged.quarantineId}`;
              throw new LancelotError("conflict", `This was not remembered: ${why}.`, { data: { quarantineId: staged.quarantineId } });
            }
            return { commitId, item, notes: [...staged.notes] };
          }),
        outputs: ({ commitId, item, notes }) => ({ commitId, items: [item.id], notes: clean(notes, redactor) }),
        verify: ({ item }) => {
          const now = memory.item(item.id).item;
          return now === null || (now.version === item.version && now.content !== item.content) ? `${item.id} is not stored.` : null;
        },
      };
    },

    forget: (item, caller) => ({
      name: "memory.forget",
      inputs: { id: item.id },
      steps: [memoryStep(caller, { op: "forget", id: item.id, target: targetOf(item), namespace: item.namespace, items: 1 }, redactor)],
      question: { title: `Forget (${targetOf(item)})`, detail: clean(item.content, redactor) },
      run: (receiptId) =>
        judged(() => {
          const reason = "The owner asked for it to be forgotten.";
          const { commitId } = alone(authorOf(caller), reason, receiptId, {
            op: "delete",
            target: targetOf(item),
            namespace: item.namespace,
            selector: item.id,
            reason,
            confidence: 1,
            provenance: { source: "user" },
          });
          return { commitId, forgotten: item, candidates: [] };
        }),
      outputs: ({ commitId }) => ({ commitId, items: [item.id] }),
      verify: ({ commitId }) => (commitId === null ? null : verifyCommit(memory, commitId, memory.commit(commitId).diff)),
    }),

    import: (params, caller) => ({
      name: "memory.import",
      inputs: clean({ ...params }, redactor),
      steps: [memoryStep(caller, { op: params.dryRun ? "check_import" : "import", mode: params.mode, path: params.path }, redactor)],
      question: { title: "Import memory", detail: `${params.path}\n${params.mode}` },
      run: (receiptId) => judged(() => memory.import(params, authorOf(caller), receiptId)),
      outputs: ({ commitId, added, updated, unchanged, removed, refused }) => ({
        ...{ commitId, added, updated, unchanged, removed, refused: refused.length },
      }),
      verify: ({ commitId }) => (commitId === null ? null : verifyCommit(memory, commitId, memory.commit(commitId).diff)),
    }),

    export: (format) => ({
      name: "memory.export",
      inputs: { format },
      steps: [{ capability: "memory", action: "read", args: { op: "export", format } }],
      question: { title: "Export memory", detail: format },
      run: () => judged(() => memory.export(format)),
      outputs: (made) => ({ ...made }),
    }),

    runJob: (name, caller) => ({
      name: "memory.runJob",
      inputs: { name },
      steps: [memoryStep(caller, { op: "job", name }, redactor)],
      question: { title: `Run ${name}`, detail: name },
      run: () => judged(() => memory.runJob(name, caller.signal)),
      outputs: ({ last }) => ({ status: last?.status ?? null, detail: last?.detail ?? null }),
    }),
  };
}
