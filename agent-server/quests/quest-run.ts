import type { WaitingFor } from "../contract/chat.ts";
import type { Quest } from "../contract/chat.ts";
import type { ModelOverride } from "../contract/router.ts";
import type { RouteSequence, TaskType } from "../models/models.ts";
import { createFailureCounter } from "./stop-rules.ts";

/** How the calls of a run are routed. */
export interface RunRouting {
  /** The user's message it was decided for, its type and text. */
  readonly messageId: string;
  readonly type: TaskType;
  readonly text: string;
  readonly override: ModelOverride | undefined;
  /** Keeps a tool loop on its lane, and holds the route that a failover or escalation chose. */
  readonly routes: RouteSequence;
}

/** One run of a quest in this host: from a start (the owner's words, resume, a finished review) to its end. */
export interface Run {
  readonly questId: string;
  readonly controller: AbortController;
  /** The owner's message it began with; null when it began otherwise. */
  readonly begunBy: string | null;
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

export function createRun(questId: string, receiptId: string, begunBy: string | null): Run {
  return {
    questId,
    begunBy,
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
