import type { ActionContext } from "../../contract/action.ts";
import type { Change, ChangeTexts, Evidence } from "../../contract/changes.ts";
import type { FileImage } from "../checkpoints/file-image.ts";
import type { FilePath } from "../file-operations.ts";
import type { CurrentText, TargetFile } from "../workspace-files.ts";
import type { StoredChange } from "./change-store.ts";
import type { WholeContent } from "./whole-changes.ts";

/** A file as a quest sees it: the current text with the quest's own proposed edits that the user has not rejected. */
export interface Overlay {
  readonly text: string | null;
  readonly changeId: string | null;
  /** True when the proposed edits no longer merge with the user's edits; the text is then the user's. */
  readonly conflict: boolean;
}

export interface EditRecord {
  readonly questId: string | null;
  readonly file: TargetFile;
  readonly current: CurrentText;
  readonly text: string | null;
  readonly receiptId: string | null;
  /** Permission bits that the file gets with the text; those it has if absent. */
  readonly mode?: number;
  /** The command that made the change; absent for an edit. */
  readonly origin?: string;
  /** Why the change is decided on its own: the program that would run the file. Absent for an ordinary change. */
  readonly caution?: string;
}

/** A change of a path that is decided as a whole: binary content, a link, a folder, or permissions alone. */
export interface WholeRecord extends Pick<EditRecord, "questId" | "receiptId" | "origin" | "caution"> {
  readonly file: FilePath;
  /** Contents are in the object store. */
  readonly before: WholeContent;
  readonly after: WholeContent;
}

/** Result of a review, for the model. */
export interface ReviewResult {
  /** Number of undecided changes. */
  open: number;
  text: string;
}

/** Review of proposed changes. */
export interface ChangeReview {
  list(filter: { questId?: string; open?: boolean; limit: number }): Change[];
  get(id: string): ChangeTexts;
  /**
   * Applies the user's decision. Accepted hunks are written through the execution pipeline. @throws LancelotError `not_found`, `conflict`.
   */
  decide(id: string, decision: "accept" | "reject", hunks?: readonly number[]): Promise<Change>;
  /** Describes the decisions since the last report for the model; empty without any. */
  takeReview(questId: string): ReviewResult;
  /** Rejects the undecided changes of a quest, when the user stops it or the quest is deleted. */
  discard(questId: string): void;
  onChange(listener: (change: Change) => void): () => void;
}

interface Accepted {
  readonly change: Pick<StoredChange, "id" | "path" | "receiptId" | "mode"> & { readonly questId: string | null };
  readonly file: TargetFile;
}

/** Accepted hunks of one change, ready to write. */
export interface AcceptedText extends Accepted {
  readonly current: CurrentText;
  /** Null deletes the file. */
  readonly text: string | null;
}

/** An accepted change that is decided as a whole. */
export interface AcceptedWhole extends Accepted {
  readonly current: FileImage;
  readonly image: FileImage;
}

/** Writes accepted changes to the workspace. */
export interface ApplyAccepted {
  /** Whether governance lets an action write the change without a question. */
  isAllowed(accepted: AcceptedText | AcceptedWhole, by: ActionContext): boolean;
  /**
   * Writes through the execution pipeline. @param by the action that accepts by posture or mode; null for the user's review
   * @throws LancelotError as the pipeline does; `conflict` when the path changed since it was read
   */
  apply(accepted: AcceptedText | AcceptedWhole, by: ActionContext | null): Promise<void>;
}

/** Proposed edits and their review. */
export interface Changes {
  readonly review: ChangeReview;
  overlay(questId: string | null, file: TargetFile, current: CurrentText): Overlay;
  /** Stores an edit for review; null when the edit reverts the earlier proposal and leaves no difference. */
  propose(edit: EditRecord): Change | null;
  /** Records an edit that was already applied as an accepted change. */
  recordApplied(edit: EditRecord): Change;
  /** Stores a change of a path that is decided as a whole. It replaces the quest's undecided change of that path. */
  proposeWhole(of: WholeRecord): Change;
  /** Records a test run that saw exactly this undecided change. */
  addEvidence(id: string, evidence: Omit<Evidence, "at">): void;
  /** Accepts an undecided change where governance allows that without a question; false when it stays undecided. */
  applyAllowed(id: string, by: ActionContext): Promise<boolean>;
  /** Proposes an undecided change of one quest in another as well. It replaces what that quest proposes for the path. */
  copy(id: string, to: { readonly questId: string; readonly receiptId: string | null }): Change;
  /** Withdraws the quest's undecided change of a path, which no longer differs from the workspace. */
  withdraw(questId: string | null, absolute: string): void;
}
