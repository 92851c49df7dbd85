import type { WaitingFor } from "../contract/chat.ts";
import type { Quest } from "../contract/chat.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { Route, TaskType } from "../models/models.ts";
import { createFailureCounter } from "./stop-rules.ts";

/** Where the calls of a run go. */
export interface RunRouting {
  /** The owner's message it was decided for, its type and words. */
  readonly messageId: string;
  readonly type: TaskType;
  readonly text: string;
  readonly override: ModelOverride | undefined;
  /** Of the last step: a tool loop that goes on keeps its lane. */
  route: Route | null;
  /** Decided for the next step already, since the last one failed. */
  next: Route | null;
}

/** One run of a quest in this host: from a start (the owner's words, resume, a finished review) to its end. */
export interface Run {
  readonly questId: string;
  readonly controller: AbortController;
  /** The owner's message it began with; null when it began otherwise. */
  readonly startMessageId: string | null;
  /** Root of what this run causes in the ledger. */
  readonly receiptId: string;
  /** Resolves when the loop has unwound; never rejects. */
  done: Promise<void>;
  /** Set when the run was ended from outside: from then on the loop writes nothing more. */
  ended: boolean;
  /** Stores the text streamed so far; set while an answer streams. */
  flush: (() => void) | null;
  /** What the owner has to do before tools go on, by tool call. */
  readonly waits: Map<string, WaitingFor>;
  /** Open questions of ask_owner, by tool call. */
  readonly questions: Map<string, (answer: string) => void>;
  failures: ReturnType<typeof createFailureCounter>;
  /** Where its calls of models go; null before the first. */
  routing: RunRouting | null;
  /** What the last prompt took. */
  prompted: Quest["context"];
  turns: number;
  /** The run gave the owner some text or called a tool. */
  answered: boolean;
  /** The length limit was met and the model told to go on. */
  continuedAfterLimit: boolean;
}

export function createRun(questId: string, receiptId: string, startMessageId: string | null): Run {
  return {
    questId,
    startMessageId,
    receiptId,
    controller: new AbortController(),
    done: Promise.resolve(),
    ended: false,
    flush: null,
    waits: new Map(),
    questions: new Map(),
    failures: createFailureCounter(),
    routing: null,
    prompted: undefined,
    turns: 0,
    answered: false,
    continuedAfterLimit: false,
  };
}
