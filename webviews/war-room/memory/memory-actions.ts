import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { CoreBlockName, MemoryItem, MemoryJobName, MemoryTarget, QuarantineEntry } from "../../../agent-server/contract/memory.ts";
import { type Bridge, problemOf } from "../../shared/bridge.ts";
import { t } from "../../shared/l10n.ts";

/** The last completed action and the commit that Undo reverts. */
export interface CompletedAction {
  readonly text: string;
  readonly undo: string | null;
}

/** Changes that the user makes in the panel itself. Actions with a dialog of the editor run as commands instead. */
export interface MemoryActions {
  /** Id of the item that an action is changing. */
  readonly busy: ReadonlySignal<string | null>;
  readonly problem: Signal<{ readonly actionId: string; readonly text: string } | null>;
  readonly lastAction: Signal<CompletedAction | null>;
  add(block: CoreBlockName, content: string): Promise<boolean>;
  replace(item: MemoryItem, content: string, reason: string): Promise<boolean>;
  forget(item: MemoryItem): Promise<boolean>;
  quarantineItem(item: MemoryItem, reason: string): Promise<boolean>;
  deny(entry: QuarantineEntry, reason: string): Promise<boolean>;
  /** @returns the id of the context, or null when the compilation failed */
  compile(objective: string): Promise<string | null>;
  runJob(name: MemoryJobName): Promise<boolean>;
}

export const addActionId = (block: CoreBlockName): string => `add:${block}`;
export const compileActionId = "compile";

export function targetOf({ tier, block }: Pick<MemoryItem, "tier" | "block">): MemoryTarget {
  return tier === "core" ? `core:${block ?? "human"}` : tier;
}

export function createMemoryActions(bridge: Bridge): MemoryActions {
  const busy = signal<string | null>(null);
  const problem = signal<MemoryActions["problem"]["value"]>(null);
  const lastAction = signal<CompletedAction | null>(null);

  async function attempt(actionId: string, work: () => Promise<CompletedAction | null>): Promise<boolean> {
    if (busy.peek() !== null) return false;
    busy.value = actionId;
    problem.value = null;
    try {
      lastAction.value = await work();
      return true;
    } catch (error) {
      problem.value = { actionId, text: problemOf(error) };
      return false;
    } finally {
      busy.value = null;
    }
  }
  const withNotes = (text: string, notes: readonly string[]): string => [text, ...notes].join(" ");

  return {
    busy,
    problem,
    lastAction,
    add: (block, content) =>
      attempt(addActionId(block), async () => {
        const { commitId, notes } = await bridge.call("memory.remember", { text: content, target: `core:${block}` });
        return { text: withNotes(t("Saved to memory."), notes), undo: commitId };
      }),
    replace: (item, content, reason) =>
      attempt(item.id, async () => {
        const { commitId, notes, outcome } = await bridge.call("memory.edit", {
          ...{ op: "replace", target: targetOf(item), selector: item.id, content, namespace: item.namespace, confidence: 1 },
          ...{ reason: reason === "" ? t("Corrected in the Memory panel.") : reason, provenance: { source: "user" } },
        });
        if (outcome === "quarantined") return { text: withNotes(t("The edit is in quarantine until you approve it."), notes), undo: null };
        return { text: withNotes(t("Entry updated."), notes), undo: commitId };
      }),
    forget: (item) =>
      attempt(item.id, async () => {
        const { commitId } = await bridge.call("memory.forget", { id: item.id });
        return { text: t("Entry deleted."), undo: commitId };
      }),
    quarantineItem: (item, reason) =>
      attempt(item.id, async () => {
        const { commitId } = await bridge.call("memory.setAside", {
          id: item.id,
          reason: reason === "" ? t("Quarantined in the Memory panel.") : reason,
        });
        return { text: t("Moved to quarantine."), undo: commitId };
      }),
    deny: (entry, reason) =>
      attempt(entry.id, async () => {
        await bridge.call("memory.deny", { id: entry.id, ...(reason === "" ? {} : { reason }) });
        return { text: t("Rejected. You can still approve it under Rejected."), undo: null };
      }),
    async compile(objective) {
      let id: string | null = null;
      await attempt(compileActionId, async () => {
        id = (await bridge.call("memory.compile", { objective })).contextId;
        return null;
      });
      return id;
    },
    runJob: (name) =>
      attempt(name, async () => {
        await bridge.call("memory.runJob", { name });
        return null;
      }),
  };
}
