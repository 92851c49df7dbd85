import type { OverlayLayer } from "./types.ts";

/** The workspace as a layer of a task's view. */
export function workspaceLayer(workspace: string): OverlayLayer {
  return { name: "workspace", lower: workspace };
}
