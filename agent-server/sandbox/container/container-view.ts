import { chmodSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { OverlayView } from "../../workspace/workspace.ts";
import type { OverlayOptions } from "../overlay/overlay-folders.ts";
import { openOverlayView } from "../overlay/overlay-view.ts";

/**
 * The view of a task whose commands run in containers. A layer can only be mounted once at a time, so this process and the engine mount it
 * in turn: the engine while a command runs, this process before and after.
 */
export interface ContainerView {
  readonly view: OverlayView;
  /**
   * Unmounts the layers here, so that the engine can mount them.
   * @returns mounts them here again. Call it once the engine's mounts are gone.
   */
  suspend(): Promise<() => Promise<void>>;
}

/** @throws LancelotError `unavailable` where overlays cannot be mounted. */
export async function openContainerView(options: OverlayOptions): Promise<ContainerView> {
  const first = await openOverlayView(options);
  const state = { mounted: first as OverlayView | null, closed: false };
  const here = (): OverlayView => {
    if (state.mounted === null) throw new LancelotError("unavailable", "The task's files are not available while its command runs.");
    return state.mounted;
  };
  return {
    view: {
      sandbox: options.sandbox,
      folder: options.folder,
      layers: options.layers,
      wasReset: first.wasReset,
      upper: first.upper,
      merged: (layer) => here().merged(layer),
      get enter() {
        return here().enter;
      },
      alive: () => state.mounted?.alive() ?? false,
      async close() {
        state.closed = true;
        const { mounted } = state;
        state.mounted = null;
        await mounted?.close();
      },
    },
    async suspend() {
      const mounted = here();
      state.mounted = null;
      await mounted.close();
      return async () => {
        if (!state.closed) state.mounted = await openOverlayView(options);
      };
    },
  };
}

/**
 * Creates the working folder of an engine's mount of a layer, next to the one of this process: an engine of root leaves entries there that
 * only root can remove, and then no other mount can use the folder. @returns its path
 */
export function makeWorkFolder(layer: string, name: string): string {
  const path = join(layer, "engine-work", name);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Removes the working folder of a mount that is gone. Entries of root stay where this process is not root. */
export function removeWorkFolder(path: string): void {
  const own = join(path, "work");
  try {
    // The system closes its folders there to everybody.
    for (const closed of [own, join(own, "incompat"), join(own, "incompat/volatile")]) if (existsSync(closed)) chmodSync(closed, 0o700);
    rmSync(path, { recursive: true, force: true });
  } catch {
    // They are empty, and are removed with the task's folder.
  }
}
