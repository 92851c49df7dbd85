import { LancelotError } from "../../contract/errors.ts";
import type { MemoryItem, MemoryTarget, QuarantineEntry } from "../../contract/memory.ts";
import type { Result } from "../../contract/table.ts";
import type { Memory } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import { authorOf, clean, judged, type MemoryAction, type MemoryCaller, memoryStep } from "./memory-action.ts";
import { verifyCommit } from "./verify-commit.ts";

export interface QuarantineActions {
  /** The owner lets a quarantined edit in. */
  promote(id: string, reason: string | null, caller: MemoryCaller): MemoryAction<Result<"memory.promote">>;
  /** The owner turns it away. */
  deny(id: string, reason: string | null, caller: MemoryCaller): MemoryAction<QuarantineEntry>;
  /** Out of use and into quarantine. */
  setAside(id: string, reason: string, caller: MemoryCaller): MemoryAction<Result<"memory.setAside">>;
}

/** Where an item belongs. */
export function targetOf({ tier, block }: Pick<MemoryItem, "tier" | "block">): MemoryTarget {
  return tier === "core" ? `core:${block ?? "workspace_state"}` : tier;
}

/** Quarantine as actions of the road. */
export function createQuarantineActions({ memory, redactor }: { readonly memory: Memory; readonly redactor: Redactor }): QuarantineActions {
  return {
    promote(id, reason, caller) {
      const entry = memory.quarantined(id);
      return {
        name: "memory.promote",
        inputs: clean({ id, reason }, redactor),
        steps: [memoryStep(caller, { op: "promote", id, target: entry.target, content: entry.content, edit: entry.op }, redactor)],
        question: {
          title: `Let a quarantined edit into memory (${entry.target})`,
          detail: clean(entry.content ?? entry.current ?? "", redactor),
        },
        run: (receiptId) => judged(() => memory.promote(id, authorOf({ ...caller, questId: entry.questId }), reason, receiptId)),
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
        question: { title: `Turn a quarantined edit away (${entry.target})`, detail: clean(entry.content ?? "", redactor) },
        run: (receiptId) => judged(() => memory.deny(id, authorOf({ ...caller, questId: entry.questId }), reason, receiptId)),
        outputs: ({ status }) => ({ id, status }),
        verify: () => (memory.quarantined(id).status === "pending" ? `${id} still waits in quarantine.` : null),
      };
    },

    setAside(id, reason, caller) {
      const { item } = memory.item(id);
      if (item === null) throw new LancelotError("not_found", `Nothing is remembered as ${id}.`, { data: { id } });
      const target = targetOf(item);
      const step = { op: "set_aside", id, target, namespace: item.namespace, current: item.content };
      return {
        name: "memory.setAside",
        inputs: clean({ id, reason }, redactor),
        steps: [memoryStep(caller, { ...step, owners: item.provenance.source === "user" }, redactor)],
        question: { title: `Set aside what is remembered (${target})`, detail: clean(`${item.content}\n\nWhy: ${reason}`, redactor) },
        run: (receiptId) => judged(() => memory.setAside({ id }, reason, authorOf(caller), receiptId)),
        outputs: ({ commitId, entry }) => ({ commitId, quarantineId: entry.id, items: [id] }),
        verify: ({ commitId }) => (memory.item(id).item === null ? null : verifyLater(commitId)),
      };

      /** It is there again: by a later commit, or it was never taken away. */
      function verifyLater(commitId: string): string | null {
        return memory.item(id).history[0]?.commit.id === commitId ? `${id} is still in use.` : null;
      }
    },
  };
}
