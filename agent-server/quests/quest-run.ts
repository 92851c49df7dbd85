import type { WaitingFor } from "../contract/chat.ts";
import type { Quest } from "../contract/chat.ts";
import type { IntentResult } from "../contract/intent.ts";
import type { PlanProposal } from "../contract/plans.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { RouteSequence, TaskType } from "../models/models.ts";
import type { SoulScope } from "../contract/soul.ts";
import type { Outcome } from "./run-outcome.ts";
import { createFailureCounter } from "./stop-rules.ts";

/** The routing of the model calls of a run. */
export interface RunRouting {
  /** The message that the decision was made for. */
  readonly messageId: string;
  readonly type: TaskType;
  readonly text: string;
  readonly override: ModelOverride | undefined;
  /** Keeps a tool loop on its lane, and holds the route that a failover or escalation chose. */
  readonly routes: RouteSequence;
}

/** While a run makes a plan: its actions only look, and it ends with a proposed plan. */
export interface Planning {
  propose(plan: PlanProposal): { text: string; accepted: boolean };
  /** True after a plan was accepted. */
  isFinished(): boolean;
}

/** What a run of a sub-task shares with the run of its task. */
export interface SubtaskRun {
  /** The run whose call started it. Its limits hold for both together. */
  readonly parent: Run;
  /** The receipt of that call. */
  readonly receiptId: string;
  readonly soulScope: SoulScope;
  /** True when the task only looks, so that its sub-task does too. */
  readonly question: boolean;
  /** Called once, after the end is stored. */
  readonly ended: (outcome: Outcome | { status: "cancelled" }) => void;
}

/** One run of a quest in this host, from its start (a message, resume, a finished review) to its end. */
export interface Run {
  readonly questId: string;
  readonly controller: AbortController;
  /** The message that started the run; null after a resume or review. */
  readonly startMessageId: string | null;
  /** The root of all receipts of this run. */
  readonly receiptId: string;
  /** The receipt of what the run does now: its own, or that of a step of its plan. */
  parentId: string;
  /** Null for a task of the user. */
  readonly subtask: SubtaskRun | null;
  /** Resolves when the loop has returned; never rejects. */
  done: Promise<void>;
  /** True after the run was ended from outside; the loop then writes nothing more. */
  ended: boolean;
  /** Stores the text that was streamed so far; null unless an answer streams. */
  flush: (() => void) | null;
  /** Approvals, answers and reviews that tool calls wait for, by call id. */
  readonly waits: Map<string, WaitingFor>;
  /** Open `ask_owner` questions, by call id. */
  readonly questions: Map<string, (answer: string) => void>;
  failures: ReturnType<typeof createFailureCounter>;
  /** Null before the first model call. */
  routing: RunRouting | null;
  /** Tokens and window of the last prompt. */
  promptSize: Quest["context"];
  turns: number;
  /** Tool calls, and the questions and approval requests among them. */
  calls: number;
  prompts: number;
  /** True after the run produced text or called a tool. */
  answered: boolean;
  /** True when the message that the run answers is a question: its actions only look. */
  question: boolean;
  /** The intent of a message that the run's route was decided for, so that it is not classified again. */
  classified: { readonly messageId: string; readonly intent: IntentResult } | null;
  /** Null unless the run makes a plan. */
  planning: Planning | null;
  /** True after the model was asked to continue an answer that reached the length limit. */
  continuedAfterLimit: boolean;
}

export function createRun(questId: string, receiptId: string, startMessageId: string | null, subtask: SubtaskRun | null = null): Run {
  return {
    questId,
    subtask,
    startMessageId,
    receiptId,
    parentId: receiptId,
    controller: new AbortController(),
    done: Promise.resolve(),
    ended: false,
    flush: null,
    waits: new Map(),
    questions: new Map(),
    failures: createFailureCounter(),
    routing: null,
    promptSize: undefined,
    turns: 0,
    calls: 0,
    prompts: 0,
    answered: false,
    question: subtask?.question ?? false,
    classified: null,
    planning: null,
    continuedAfterLimit: false,
  };
}
