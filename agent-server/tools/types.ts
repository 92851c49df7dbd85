import type { ActionContext } from "../contract/action.ts";
import type { PlanStep, ToolPart } from "../contract/chat.ts";
import type { LancelotError } from "../contract/errors.ts";
import type { PlanProposal } from "../contract/plans.ts";
import type { SoulScope } from "../contract/soul.ts";
import type { Result } from "../contract/table.ts";
import type { SearchMatch, ToolInfo } from "../contract/tools.ts";
import type { ToolSchema } from "../models/models.ts";
import type { BackgroundCommands } from "./command/background-types.ts";
import type { MemoryService } from "./memory/memory-service.ts";
import type { Routing } from "./routing/routing.ts";

/** What a task asks of a sub-task. */
export interface SubtaskRequest {
  readonly goal: string;
  /** The stricter soul that its actions are decided with. */
  readonly soulScope: SoulScope;
  /** The call that starts it. */
  readonly context: ActionContext & { readonly quest: string };
  /** The receipt of that call. */
  readonly receiptId: string;
  /** Called when its steps change. */
  readonly onProgress: (progress: NonNullable<ToolPart["subtask"]>) => void;
}

/** How a sub-task ended. */
export interface SubtaskReport {
  readonly questId: string;
  /** For the model of the task: its answer, and what became of its changes. */
  readonly text: string;
  /** Why it did not succeed; null when it did. */
  readonly problem: string | null;
  /** For the receipt. */
  readonly outputs: Record<string, unknown>;
  readonly changeIds: readonly string[];
}

/** A request to run one tool, and how the caller follows it. */
export interface ToolCall extends ActionContext {
  readonly tool: string;
  /** As the model gave them; not parsed yet. */
  readonly args: unknown;
  /** The id of the call in its conversation; absent outside of one. */
  readonly callId?: string;
  /** Asks the user a question and waits for the answer; absent where nobody can answer. */
  readonly askOwner?: (question: string, options: readonly string[] | undefined, signal: AbortSignal) => Promise<string>;
  /** Runs a sub-task to its end; absent where there are none, as within a sub-task. @throws LancelotError `cancelled`. */
  readonly spawn?: (request: SubtaskRequest) => Promise<SubtaskReport>;
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
