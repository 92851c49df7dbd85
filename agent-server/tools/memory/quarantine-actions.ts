import type { ActionContext } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { MemoryItem, MemoryTarget, QuarantineEntry } from "../../contract/memory.ts";
import type { Result } from "../../contract/table.ts";
import type { Memory } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import { authorOf, clean, judged, type MemoryAction, memoryStep } from "./memory-action.ts";
import { verifyCommit } from "./verify-commit.ts";

export interface QuarantineActions {
  /** The owner approves a quarantined edit. */
  promote(id: string, reason: string | null, caller: ActionContext): MemoryAction<Result<"memory.promote">>;
  /** The owner rejects it. */
  deny(id: string, reason: string | null, caller: ActionContext): MemoryAction<QuarantineEntry>;
  /** Quarantines an item. */
  quarantineItem(id: string, reason: string, caller: ActionContext): MemoryAction<Result<"memory.setAside">>;
}

/** The target of an item. */
export function targetOf({ tier, block }: Pick<MemoryItem, "tier" | "block">): MemoryTarget {
  return tier === "core" ? `core:${block ?? "workspace_state"}` : tier;
}

/** Quarantine as actions of the execution pipeline. */
export function createQuarantineActions({ memory, redactor }: { readonly memory: Memory; readonly redactor: Redactor }): QuarantineActions {
  return {
    promote(id, reason, caller) {
      const entry = memory.quarantined(id);
      return {
        name: "memory.promote",
        inputs: clean({ id, reason }, redactor),
        steps: [memoryStep(caller, { op: "promote", id, target: entry.target, content: entry.content, edit: entry.op }, redactor)],
        question: {
          title: `Approve a quarantined edit (${entry.target})`,
          detail: clean(entry.content ?? entry.current ?? "", redactor),
        },
        run: (receiptId) => judged(() => memory.promote(id, authorOf({ ...caller, quest: entry.questId }), reason, receiptId)),
        outputs: ({ commitId, diff }) => ({ commitId, items: diff.map(({ itemId }) => itemId) }),
        verify: ({ commitId, diff }) => verifyCommit(memory, commitId, diff),
      };
    },

    deny(id, reason, caller) {
      const entry = memory.quarantined(id);
      return {
        name: "memory.deny",
        inputs: clean({ id, reason }, redactor),
        steps: [memoryStep(caller, { op: "deny", id, target: entry.target }, redactor)],
        question: { title: `Reject a quarantined edit (${entry.target})`, detail: clean(entry.content ?? "", redactor) },
        run: (receiptId) => judged(() => memory.deny(id, authorOf({ ...caller, quest: entry.questId }), reason, receiptId)),
        outputs: ({ status }) => ({ id, status }),
        verify: () => (memory.quarantined(id).status === "pending" ? `${id} is still pending.` : null),
      };
    },

    quarantineItem(id, reason, caller) {
      const { item } = memory.item(id);
      if (item === null) throw new LancelotError("not_found", `There is no item ${id}.`, { data: { id } });
      const target = targetOf(item);
      const step = { op: "set_aside", id, target, namespace: item.namespace, current: item.content };
      return {
        name: "memory.setAside",
        inputs: clean({ id, reason }, redactor),
        steps: [memoryStep(caller, { ...step, owners: item.provenance.source === "user" }, redactor)],
        question: { title: `Quarantine an item (${target})`, detail: clean(`${item.content}\n\nWhy: ${reason}`, redactor) },
        run: (receiptId) => judged(() => memory.quarantineItem({ id }, reason, authorOf(caller), receiptId)),
        outputs: ({ commitId, entry }) => ({ commitId, quarantineId: entry.id, items: [id] }),
        verify: ({ commitId }) => (memory.item(id).item === null ? null : verifyLater(commitId)),
      };

      /** The item is in use: restored by a later commit, or never removed. */
      function verifyLater(commitId: string): string | null {
        return memory.item(id).history[0]?.commit.id === commitId ? `${id} is still in use.` : null;
      }
    },
  };
}
