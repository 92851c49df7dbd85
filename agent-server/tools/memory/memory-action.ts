import type { ActionContext } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Decision } from "../../contract/governance.ts";
import type { Question } from "../../governance/governance.ts";
import type { Author } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import { decisionOf, type IntentSpec, type Provider } from "../../execution/execution.ts";

/** A memory action for the execution pipeline: policy steps, approval question, effect and verification. */
export interface MemoryAction<T> {
  readonly name: string;
  /** For the receipt; without secrets. */
  readonly inputs: Record<string, unknown>;
  readonly steps: readonly IntentSpec[];
  readonly question: Question;
  /** @throws LancelotError of memory; a refusal of its gates carries a decision. */
  readonly run: (receiptId: string) => Promise<T>;
  /** For the receipt. */
  readonly outputs: (value: T) => Record<string, unknown>;
  /** Null, or the problem of the stored result. Absent when nothing is stored. */
  readonly verify?: (value: T) => string | null;
}

export const memoryProvider: Provider = { name: "memory", version: "1" };

export function authorOf({ actor, quest }: Pick<ActionContext, "actor" | "quest">): Author {
  return { by: actor, questId: quest };
}

/** The arguments that policy decides on. Texts are redacted, as memory will store them. */
export interface MemoryStep {
  readonly op: string;
  readonly target?: string | undefined;
  readonly content?: string | null | undefined;
  readonly namespace?: string | undefined;
  readonly [more: string]: unknown;
}

/** A policy step. The author is set here, so that no argument of a caller can change it. */
export function memoryStep(caller: Pick<ActionContext, "actor">, step: MemoryStep, redactor: Redactor): IntentSpec {
  const given = Object.fromEntries(Object.entries(step).filter(([, value]) => value !== undefined && value !== null));
  return { capability: "memory", action: "write", args: { ...clean(given, redactor), author: caller.actor } };
}

/** Removes secrets before a value is shown, recorded or hashed. */
export function clean<T>(value: T, redactor: Redactor): T {
  return redactor.value(value);
}

/** Runs an effect. A refusal by the gates of memory gets a decision, like a denial by governance. */
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
