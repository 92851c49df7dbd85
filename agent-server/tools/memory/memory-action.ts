import { LancelotError } from "../../contract/errors.ts";
import type { Decision, Mode } from "../../contract/governance.ts";
import type { Question } from "../../governance/governance.ts";
import type { Author } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import { decisionOf } from "../../execution/decisions.ts";
import type { IntentSpec, Provider } from "../../execution/pipeline.ts";

/** Who wants something of memory, and where what is done is recorded. */
export interface MemoryCaller {
  /**
   * `owner`: by their own hand or in their own words. `system`: the host by its rules, as at a task's end; it may no more than the agent,
   * and nobody is asked: what is not allowed is left. Everybody else counts as the agent.
   */
  readonly by: "owner" | "agent" | "system";
  readonly questId: string | null;
  /** Receipt under which that of the action hangs. */
  readonly parentId: string | null;
  readonly signal: AbortSignal;
  /** Normal unless said. */
  readonly mode?: Mode | undefined;
}

/** One thing done to memory, ready for the road: what is judged, what is asked, how it is done and how it is looked at afterwards. */
export interface MemoryAction<T> {
  readonly name: string;
  /** For the receipt; without secrets. */
  readonly inputs: Record<string, unknown>;
  readonly steps: readonly IntentSpec[];
  readonly question: Question;
  /** @throws LancelotError of the memory room; what its gates refuse carries a decision. */
  readonly run: (receiptId: string) => Promise<T>;
  /** For the receipt. */
  readonly outputs: (value: T) => Record<string, unknown>;
  /** Null, or a sentence that says what is not stored as it was to be. Absent where nothing is stored. */
  readonly verify?: (value: T) => string | null;
}

export const memoryProvider: Provider = { name: "memory", version: "1" };

export function authorOf({ by, questId }: Pick<MemoryCaller, "by" | "questId">): Author {
  return { by, questId };
}

/** What a step to memory is judged by. Texts are given as memory will keep them: without secrets. */
export interface MemoryStep {
  readonly op: string;
  readonly target?: string | undefined;
  readonly content?: string | null | undefined;
  readonly namespace?: string | undefined;
  readonly [more: string]: unknown;
}

/** A step of the road. Who wants it is part of what is judged, so that no word of a caller can change it. */
export function memoryStep(caller: Pick<MemoryCaller, "by">, step: MemoryStep, redactor: Redactor): IntentSpec {
  const given = Object.fromEntries(Object.entries(step).filter(([, value]) => value !== undefined && value !== null));
  return { capability: "memory", action: "write", args: { ...clean(given, redactor), author: caller.by } };
}

/** Without secrets: what is asked, recorded and hashed holds none, whatever memory is given. */
export function clean<T>(value: T, redactor: Redactor): T {
  return redactor.value(value);
}

/** Does it; what the gates of memory refuse is told as a decision, as what the gate of the road refuses is. */
export async function judged<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof LancelotError && error.code === "denied" ? withDecision(error) : error;
  }
}

function withDecision(error: LancelotError): LancelotError {
  const rule = error.data?.["rule"];
  if (typeof rule !== "string" || decisionOf(error) !== null) return error;
  const alternatives = error.data?.["alternatives"];
  const decision: Decision = {
    verdict: "deny",
    tier: "T1",
    riskLevel: "medium",
    rules: [
      { id: rule.startsWith("memory.") || rule.startsWith("soul.") ? rule : `memory.${rule}`, source: "policy", message: error.message },
    ],
    alternatives: Array.isArray(alternatives) ? alternatives.filter((one) => typeof one === "string") : [],
    cached: false,
  };
  return new LancelotError("denied", error.message, { data: { ...error.data, decision }, cause: error });
}
