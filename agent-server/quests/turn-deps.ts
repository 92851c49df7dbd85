import type { Context, WorkStateReader } from "../context/context.ts";
import type { ActionContext } from "../contract/action.ts";
import type { Emit } from "../contract/events.ts";
import type { IntentResult } from "../contract/intent.ts";
import type { Params } from "../contract/table.ts";
import type { Governance } from "../governance/governance.ts";
import type { QuestRecall } from "../memory/memory.ts";
import type { Models, Route, TaskContext } from "../models/models.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor, Sanitizer } from "../security/security.ts";
import type { Execution } from "../execution/execution.ts";
import type { SubtaskReport, SubtaskRequest, Tools } from "../tools/tools.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import type { ClaimCheck } from "./claim-check.ts";
import type { OwnerMemoryCommands } from "./memory/owner-memory-commands.ts";
import type { QuestContext } from "./context/quest-context.ts";
import type { Run } from "./quest-run.ts";
import type { Outcome } from "./run-outcome.ts";
import type { QuestStore } from "./quest-store.ts";

/** Runs a quest until its run ends (`turn/turn.ts`), and calls `conclude` with the outcome. */
export type RunLoop = (deps: TurnDeps, run: Run, conclude: (outcome: Outcome) => void) => Promise<void>;

export type Classify = (request: Params<"intent.classify">, context: TaskContext) => Promise<IntentResult | null>;

/** Thinks about a request before its first step (A5), and stores the result in the conversation. */
export type Reason = (deps: Pick<TurnDeps, "store" | "models" | "ledger" | "redactor">, run: Run, route: Route) => Promise<void>;

/** Runs a sub-task of a run to its end (A11). @throws LancelotError `cancelled`. */
export type Spawn = (parent: Run, of: SubtaskRequest) => Promise<SubtaskReport>;

/** Dependencies of the agentic loop. */
export interface TurnDeps {
  store: QuestStore;
  models: Models;
  tools: Tools;
  changes: ChangeReview;
  verifications: Execution["verifications"];
  /** Applies what a review of the task's changes decided about its commits and generated files. @returns what the model should know */
  settle: (context: ActionContext) => Promise<string>;
  governance: Governance;
  context: Context;
  /** Builds each prompt within its budget. */
  questContext: QuestContext;
  /** Recalls memories for the prompts of a run. */
  recall: QuestRecall;
  /** Runs the memory commands in the messages of the user. */
  memoryCommands: OwnerMemoryCommands;
  /** Classifies a request; resolves to null when the classifier is off. Undefined: rules classify. */
  classify: Classify | undefined;
  /** Null: no request is reasoned about first. */
  reason: Reason | null;
  /** Compares answers with what is recorded; null where answers are not checked. */
  checkClaims: ClaimCheck | null;
  /** Reads what the editor and the repository show; null where prompts do not say it. */
  workState: WorkStateReader | null;
  /** Null: no sub-tasks, as within a sub-task. */
  spawn: Spawn | null;
  ledger: Ledger;
  redactor: Redactor;
  /** Replaces the secrets of a quest by placeholders that its file tools can resolve. */
  redactorOf: (questId: string) => Redactor;
  sanitizer: Sanitizer;
  emit: Emit;
  /** False when nobody can answer questions. */
  canAsk: boolean;
  /** Receives errors whose text is not shown in the chat. */
  log: Log;
}
