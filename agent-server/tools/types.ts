import type { ActionContext } from "../contract/action.ts";
import type { PlanStep, ToolPart } from "../contract/chat.ts";
import type { LancelotError } from "../contract/errors.ts";
import type { PlanProposal } from "../contract/plans.ts";
import type { Result } from "../contract/table.ts";
import type { SearchMatch, ToolInfo } from "../contract/tools.ts";
import type { ToolSchema } from "../models/models.ts";
import type { BackgroundCommands } from "./command/background-types.ts";
import type { MemoryService } from "./memory/memory-service.ts";
import type { Routing } from "./routing/routing.ts";

/** A request to run one tool, and how the caller follows it. */
export interface ToolCall extends ActionContext {
  readonly tool: string;
  /** As the model gave them; not parsed yet. */
  readonly args: unknown;
  /** The id of the call in its conversation; absent outside of one. */
  readonly callId?: string;
  /** Asks the user a question and waits for the answer; absent where nobody can answer. */
  readonly askOwner?: (question: string, options: readonly string[] | undefined, signal: AbortSignal) => Promise<string>;
  /** Stores the quest's plan. */
  readonly updatePlan?: (steps: readonly PlanStep[]) => void;
  /** Takes a plan, or says what it lacks; absent outside of planning. */
  readonly proposePlan?: (plan: PlanProposal) => { text: string; accepted: boolean };
  /** Called when the card changes: title, tier, verdict, rules, approval, status, receipt. */
  readonly onUpdate?: (card: Partial<ToolPart>) => void;
  /** Redacted output while the tool runs; `offset` counts UTF-16 units from the start, skipped ones included. */
  readonly onOutput?: (piece: { offset: number; text: string }) => void;
  /** Waits until the user has decided every open change of the quest; absent where nobody can. @throws LancelotError `cancelled`. */
  readonly settleReview?: (signal: AbortSignal) => Promise<void>;
}

export interface ToolOutcome {
  /** For the model: bounded and redacted, with how to read on or what to do instead. */
  text: string;
  isError: boolean;
  receiptId: string | null;
  changeId: string | null;
  card: Partial<ToolPart>;
  /** Why the tool failed, for callers that throw; absent otherwise. */
  error?: LancelotError;
}

/** The tools of one workspace. */
export interface Tools {
  list(): ToolInfo[];
  /** The tools as the model receives them; `names` narrows the list. */
  schemas(names?: readonly string[]): ToolSchema[];
  /** Runs a tool through the execution pipeline. A tool that fails is an outcome for the model to read. @throws LancelotError `cancelled`. */
  invoke(call: ToolCall): Promise<ToolOutcome>;
  /** Runs the user's `ls`, `cat`, `grep`, `find`, `cp` or `mv` through the pipeline. @throws LancelotError `invalid_params` for another command. */
  repl(command: string, call: { quest: string | null; signal: AbortSignal }): Promise<ToolOutcome>;
  search(
    query: { query: string; regex: boolean; glob?: string; limit: number },
    signal: AbortSignal,
  ): Promise<{ items: SearchMatch[]; truncated: boolean }>;
  files(query: string, limit: number, signal: AbortSignal): Promise<string[]>;
  /** What a file of the workspace defines. @throws LancelotError. */
  outline(path: string): Promise<Result<"workspace.outline">>;
  /** Changes to memory besides the tools, through the same pipeline; null without a memory. */
  readonly memory: MemoryService | null;
  /** The commands that run in the background. */
  readonly background: BackgroundCommands;
  /** The providers of the tools, and their health. */
  readonly routing: Routing;
  close(): Promise<void>;
}
