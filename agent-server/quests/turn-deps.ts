import type { Context } from "../context/context.ts";
import type { Emit } from "../contract/events.ts";
import type { IntentResult } from "../contract/intent.ts";
import type { Params } from "../contract/table.ts";
import type { Governance } from "../governance/governance.ts";
import type { Models, TaskContext } from "../models/models.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor, Sanitizer } from "../security/security.ts";
import type { Execution } from "../execution/execution.ts";
import type { Tools } from "../tools/tools.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import type { OwnersMemory } from "./memory/owner-memory.ts";
import type { QuestContext } from "./context/quest-context.ts";
import type { Run } from "./quest-run.ts";
import type { Outcome } from "./run-outcome.ts";
import type { QuestStore } from "./quest-store.ts";
import type { Recall } from "./memory/recall.ts";

/** Runs a quest until it ends its turn (`turn/turn.ts`). `conclude` is called with how it ended. */
export type RunLoop = (deps: TurnDeps, run: Run, conclude: (outcome: Outcome) => void) => Promise<void>;

export type Classify = (request: Params<"intent.classify">, context: TaskContext) => Promise<IntentResult | null>;

/** What the loop and its steps work with. */
export interface TurnDeps {
  store: QuestStore;
  models: Models;
  tools: Tools;
  changes: ChangeReview;
  verifications: Execution["verifications"];
  governance: Governance;
  context: Context;
  /** What each prompt is made of, within its budget. */
  questContext: QuestContext;
  /** What is remembered, for the prompts of a run. */
  recall: Recall;
  /** What the owner orders of memory in their messages. */
  ownersMemory: OwnersMemory;
  /** What kind of request a text is; null where that is switched off. Without it words alone tell. */
  classify: Classify | undefined;
  ledger: Ledger;
  redactor: Redactor;
  /** What a quest's own secrets are taken out with, so that they can be put back into files. */
  redactorOf: (questId: string) => Redactor;
  sanitizer: Sanitizer;
  emit: Emit;
  /** False where nobody can answer a question. */
  canAsk: boolean;
  /** Told of errors whose text the owner is not shown. */
  log: Log;
}
