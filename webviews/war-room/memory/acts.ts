import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { CoreBlockName, MemoryItem, MemoryJobName, MemoryTarget, QuarantineEntry } from "../../../agent-server/contract/memory.ts";
import { type Bridge, problemOf } from "../../shared/bridge.ts";
import { t } from "../../shared/l10n.ts";

/** What was done last, in words, and the commit that Undo would take back. */
export interface Done {
  readonly text: string;
  readonly undo: string | null;
}

/** What the owner changes from the panel itself. What needs a dialog of the editor goes by a command instead. */
export interface MemoryActs {
  /** What is being done, by the id of what it is done to. */
  readonly busy: ReadonlySignal<string | null>;
  readonly problem: Signal<{ readonly of: string; readonly text: string } | null>;
  readonly done: Signal<Done | null>;
  add(block: CoreBlockName, content: string): Promise<boolean>;
  replace(item: MemoryItem, content: string, reason: string): Promise<boolean>;
  forget(item: MemoryItem): Promise<boolean>;
  setAside(item: MemoryItem, reason: string): Promise<boolean>;
  deny(entry: QuarantineEntry, reason: string): Promise<boolean>;
  /** @returns the id of the context, null when it did not work */
  compile(objective: string): Promise<string | null>;
  runJob(name: MemoryJobName): Promise<boolean>;
}

export const addTo = (block: CoreBlockName): string => `add:${block}`;
export const compileAct = "compile";

export function targetOf({ tier, block }: Pick<MemoryItem, "tier" | "block">): MemoryTarget {
  return tier === "core" ? `core:${block ?? "human"}` : tier;
}

export function createMemoryActs(bridge: Bridge): MemoryActs {
  const busy = signal<string | null>(null);
  const problem = signal<MemoryActs["problem"]["value"]>(null);
  const done = signal<Done | null>(null);

  async function attempt(of: string, work: () => Promise<Done | null>): Promise<boolean> {
    if (busy.peek() !== null) return false;
    busy.value = of;
    problem.value = null;
    try {
      done.value = await work();
      return true;
    } catch (error) {
      problem.value = { of, text: problemOf(error) };
      return false;
    } finally {
      busy.value = null;
    }
  }
  const withNotes = (text: string, notes: readonly string[]): string => [text, ...notes].join(" ");

  return {
    busy,
    problem,
    done,
    add: (block, content) =>
      attempt(addTo(block), async () => {
        const { commitId, notes } = await bridge.call("memory.remember", { text: content, target: `core:${block}` });
        return { text: withNotes(t("Remembered."), notes), undo: commitId };
      }),
    replace: (item, content, reason) =>
      attempt(item.id, async () => {
        const { commitId, notes, outcome } = await bridge.call("memory.edit", {
          ...{ op: "replace", target: targetOf(item), selector: item.id, content, namespace: item.namespace, confidence: 1 },
          ...{ reason: reason === "" ? t("Corrected by the owner.") : reason, provenance: { source: "user" } },
        });
        if (outcome === "quarantined") return { text: withNotes(t("It waits in quarantine."), notes), undo: null };
        return { text: withNotes(t("Changed."), notes), undo: commitId };
      }),
    forget: (item) =>
      attempt(item.id, async () => {
        const { commitId } = await bridge.call("memory.forget", { id: item.id });
        return { text: t("Forgotten."), undo: commitId };
      }),
    setAside: (item, reason) =>
      attempt(item.id, async () => {
        const { commitId } = await bridge.call("memory.setAside", {
          id: item.id,
          reason: reason === "" ? t("Set aside by the owner.") : reason,
        });
        return { text: t("Set aside. It waits in quarantine."), undo: commitId };
      }),
    deny: (entry, reason) =>
      attempt(entry.id, async () => {
        await bridge.call("memory.deny", { id: entry.id, ...(reason === "" ? {} : { reason }) });
        return { text: t("Denied. It is kept under Denied, and can be let in from there."), undo: null };
      }),
    async compile(objective) {
      let id: string | null = null;
      await attempt(compileAct, async () => {
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
