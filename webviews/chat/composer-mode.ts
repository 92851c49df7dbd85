import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Quest } from "../../agent-server/contract/chat.ts";
import type { EditMode, Posture } from "../../agent-server/contract/governance.ts";

/** What the next message asks for: a plan, or work whose edits are reviewed or applied. */
export type ComposerMode = "plan" | EditMode;
/** In the order in which the key goes through them. */
export const composerModes = ["plan", "review", "auto"] as const satisfies readonly ComposerMode[];

export interface ModeChoice {
  /** What the composer shows: the user's choice, else that of the task, else the setting. */
  readonly mode: ReadonlySignal<ComposerMode>;
  /** The user's choice that the task does not have yet; null without one. */
  readonly chosen: ReadonlySignal<ComposerMode | null>;
  choose(mode: ComposerMode): void;
  /** Chooses the mode after the shown one. */
  next(): void;
  /** Returns to the mode of the task, or to the setting. */
  reset(): void;
}

interface ModeDeps {
  readonly quest: ReadonlySignal<Quest | null>;
  readonly posture: ReadonlySignal<Posture | undefined>;
  /** Tells the host about the edits of an existing task, which may be running. */
  setEdits(questId: string, edits: EditMode): void;
}

export function createModeChoice({ quest, posture, setEdits }: ModeDeps): ModeChoice {
  const chosen = signal<ComposerMode | null>(null);
  const mode = computed(() => chosen.value ?? quest.value?.edits ?? (posture.value === "autonomous" ? "auto" : "review"));
  function choose(to: ComposerMode): void {
    const task = quest.peek();
    if (to === "plan" || task === null) {
      chosen.value = to;
      return;
    }
    // The task keeps it, for its next action too.
    chosen.value = null;
    if (mode.peek() !== to) setEdits(task.id, to);
  }
  return {
    mode,
    chosen,
    choose,
    next: () => choose(composerModes[(composerModes.indexOf(mode.peek()) + 1) % composerModes.length] ?? "review"),
    reset() {
      chosen.value = null;
    },
  };
}
