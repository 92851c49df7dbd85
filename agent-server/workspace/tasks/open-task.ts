import type { RefState } from "../git/ref-state.ts";
import type { OverlayView } from "./types.ts";

/** The open view of a task, and what it shows. */
export interface OpenTask {
  readonly view: OverlayView;
  /** Paths where the view shows the user's text, because the proposed change does not merge with it. */
  readonly conflicts: Set<string>;
  /** The proposed changes that the view showed at first, with the time of their last change. */
  readonly shown: Map<string, string>;
  /** The real repository as the task's commands first saw it; null without one. */
  base: RefState | null;
}
