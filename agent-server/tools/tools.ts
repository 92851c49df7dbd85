import type { Change, ChangeTexts, Checkpoint, RestoreResult } from "../contract/changes.ts";
import type { PlanStep, ToolPart } from "../contract/chat.ts";
import type { Mode } from "../contract/governance.ts";
import type { SearchMatch, ToolInfo } from "../contract/tools.ts";
import type { ToolSchema } from "../models/models.ts";

/** Who asks for a tool, and how what happens is told meanwhile. */
export interface ToolCall {
  tool: string;
  /** As the model gave them; parsed here. */
  args: unknown;
  questId: string | null;
  /** Receipt under which this one hangs. */
  parentId: string | null;
  mode: Mode;
  signal: AbortSignal;
  /** Shows a question to the owner and waits for the answer; absent where nobody can answer. */
  askOwner?: (question: string, options: readonly string[] | undefined, signal: AbortSignal) => Promise<string>;
  /** Keeps the quest's plan. */
  updatePlan?: (steps: readonly PlanStep[]) => void;
  /** Called as the card changes: title, tier, verdict, rules, approval, status, receipt. */
  onUpdate?: (card: Partial<ToolPart>) => void;
}

export interface ToolOutcome {
  /** For the model: bounded, redacted, with how to read on or what to do instead. */
  text: string;
  isError: boolean;
  receiptId: string | null;
  changeId: string | null;
  card: Partial<ToolPart>;
}

/** What a review left, for the model. */
export interface ReviewResult {
  /** Changes still undecided. */
  open: number;
  text: string;
}

export interface Tools {
  list(): ToolInfo[];
  /** What the model is told of them; `names` narrows the list. */
  schemas(names?: readonly string[]): ToolSchema[];
  /** The full road. Never throws for a failed tool: that is an outcome the model can read. @throws LancelotError `cancelled`. */
  invoke(call: ToolCall): Promise<ToolOutcome>;
  search(
    query: { query: string; regex: boolean; glob?: string; limit: number },
    signal: AbortSignal,
  ): Promise<{ items: SearchMatch[]; truncated: boolean }>;
  files(query: string, limit: number, signal: AbortSignal): Promise<string[]>;
  changes: {
    list(filter: { questId?: string; open?: boolean; limit: number }): Change[];
    get(id: string): ChangeTexts;
    /** The owner's review. Accepted hunks are written by the full road. @throws LancelotError `not_found`, `conflict`. */
    decide(id: string, decision: "accept" | "reject", hunks?: readonly number[]): Promise<Change>;
    /** Words for the model on what was accepted and rejected since it was last told; empty when nothing. */
    takeReview(questId: string): ReviewResult;
    /** Rejects what is undecided of a quest (the owner stopped it or the quest goes). */
    discard(questId: string): void;
    onChange(listener: (change: Change) => void): () => void;
  };
  checkpoints: {
    list(filter: { questId?: string; limit: number }): Checkpoint[];
    diff(of: { id: string } | { questId: string }): Promise<{ path: string; diff: string }[]>;
    restore(of: { id: string } | { questId: string }): Promise<RestoreResult>;
  };
}
