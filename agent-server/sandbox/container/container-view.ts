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
      refresh: () => here().refresh(),
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
