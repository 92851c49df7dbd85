import { setTimeout as wait } from "node:timers/promises";
import { noUsage } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { ProviderKind } from "../contract/models.ts";
import type { Lane } from "../contract/router.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor } from "../security/security.ts";
import { openCallReceipt, summarizeAnswer } from "./call-receipt.ts";
import type { Provider, ProviderCall } from "./providers/provider.ts";
import type { ModelEvent, ModelRequest } from "./request.ts";
import type { Breakers } from "./resilience/breakers.ts";
import { type Limits, watchPatience } from "./resilience/patience.ts";
import { promptTokens, tokensOf } from "./prompt-tokens.ts";
import type { UsageBook } from "./usage/usage.ts";

export interface Attempt {
  /** Name in models.yaml, and the one shown. */
  provider: string;
  displayName: string;
  kind: ProviderKind;
  lane: Lane;
  /** It costs nothing unless the owner says so, and no breaker guards it where it is embedded. */
  onThisMachine: boolean;
  call: ProviderCall;
  limits: Limits;
  retries: Retries;
  /** The router's decision this call belongs to. */
  decisionId?: string;
  /** How many values of each kind are hidden from it. */
  hidden?: Readonly<Record<string, number>>;
  stream: Provider["stream"];
}

export interface Retries {
  tries: number;
  /** The longest first wait (ms). */
  baseMs: number;
  /** A provider that asks for more is not waited for (ms). */
  maxWaitMs: number;
}

export interface AttemptDeps {
  ledger: Ledger;
  redactor: Redactor;
  /** Absent: nothing is counted, and no cap holds. */
  usage?: Pick<UsageBook, "admit" | "count"> | undefined;
  breakers?: Pick<Breakers, "enter"> | undefined;
  /** Waits, or rejects when the signal fires. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** 0 to 1. */
  random?: () => number;
  now?: () => number;
}

interface CallContext {
  questId: string | null;
  parentId: string | null;
  signal: AbortSignal;
}

/** Waiting a minute for nothing twice is enough. */
const maxTimeouts = 2;

/**
 * One answer in as many tries as it may take, each a receipt opened before its request. A `retry` event precedes every try
 * but the first and takes back what the one before it streamed.
 * @throws LancelotError worded for the owner.
 */
export async function* answerInAttempts(
  deps: AttemptDeps,
  attempt: Attempt,
  request: ModelRequest,
  context: CallContext,
): AsyncGenerator<ModelEvent> {
  const sleep = deps.sleep ?? ((ms, signal) => wait(ms, undefined, { signal }));
  const random = deps.random ?? Math.random;
  let timeouts = 0;
  for (let tries = 1; ; tries++) {
    let error: LancelotError;
    try {
      yield* guardedTry(deps, attempt, request, context, tries);
      return;
    } catch (cause) {
      error = toLancelotError(cause, attempt, context.signal);
    }
    if (error.data?.["reason"] === "timeout") timeouts++;
    const mayRetry = error.data?.["retryable"] === true && tries < attempt.retries.tries && timeouts < maxTimeouts;
    const delayMs = mayRetry ? delayOf(error, tries, attempt.retries, random) : null;
    if (delayMs === null) throw conclude(deps.redactor, error, tries, attempt.retries);
    yield { type: "retry", attempt: tries + 1, delayMs, reason: deps.redactor.text(error.message).text };
    try {
      await sleep(delayMs, context.signal);
    } catch (cause) {
      throw toLancelotError(cause, attempt, context.signal);
    }
  }
}

/** What the provider asked to wait, else a random part of 0.5, 1, 2 … s; null when it asked for longer than anyone waits. */
function delayOf(error: LancelotError, tries: number, { baseMs, maxWaitMs }: Retries, random: () => number): number | null {
  const asked = error.data?.["retryAfterMs"];
  if (typeof asked === "number") return asked > maxWaitMs ? null : Math.ceil(asked);
  return Math.round(baseMs * 2 ** (tries - 1) * random());
}

function conclude(redactor: Redactor, error: LancelotError, tries: number, { maxWaitMs }: Retries): LancelotError {
  const { text } = redactor.text(error.message);
  if (error.data?.["retryable"] !== true)
    return text === error.message
      ? error
      : new LancelotError(error.code, text, { ...(error.data === undefined ? {} : { data: error.data }), cause: error });
  const asked = error.data["retryAfterMs"];
  const often = tries === 1 ? "" : ` Tried ${tries} times;`;
  const advice =
    typeof asked === "number" && asked > maxWaitMs
      ? `${often === "" ? " It" : `${often} it`} asks to wait ${Math.ceil(asked / 60_000)} minutes.`
      : `${often === "" ? " Try" : `${often} try`} again in a minute.`;
  return new LancelotError(error.code, text + advice, { data: { ...error.data, tries, said: text }, cause: error });
}

/** One try that the provider's breaker hears of. */
async function* guardedTry(
  deps: AttemptDeps,
  attempt: Attempt,
  request: ModelRequest,
  context: CallContext,
  tries: number,
): AsyncGenerator<ModelEvent> {
  if (context.signal.aborted) throw new LancelotError("cancelled", "Stopped.");
  const tell = await deps.breakers?.enter({ name: attempt.provider, displayName: attempt.displayName });
  let ended: LancelotError | null = new LancelotError("cancelled", "Stopped.");
  try {
    for await (const event of tryOnce(deps, attempt, request, context, tries)) {
      // Told before the consumer has it: one that leaves now has had its answer.
      if (event.type === "done") ended = null;
      yield event;
    }
  } catch (cause) {
    ended = toLancelotError(cause, attempt, context.signal);
    throw ended;
  } finally {
    tell?.(ended);
  }
}

async function* tryOnce(
  deps: AttemptDeps,
  attempt: Attempt,
  request: ModelRequest,
  context: CallContext,
  tries: number,
): AsyncGenerator<ModelEvent> {
  const now = deps.now ?? Date.now;
  const { provider, kind, lane, onThisMachine, call } = attempt;
  const about = { questId: context.questId, provider, kind, model: call.model, onThisMachine };
  const inputTokens = promptTokens(request);
  const admission = deps.usage?.admit({ ...about, inputTokens, maxTokens: call.maxTokens });
  const receipt = openCallReceipt(deps, attempt, request, context, tries);
  const startedAt = now();
  let firstTokenMs: number | null = null;
  /** UTF-8 bytes of what came. */
  let streamed = 0;
  /** Providers charge for an answer that breaks off and report nothing of it: it is counted on the high side, so that caps hold. */
  const countCut = (): Record<string, unknown> => {
    if (isClosed || streamed === 0 || deps.usage === undefined) return {};
    const usage = { ...noUsage(), inputTokens, outputTokens: Math.min(tokensOf(streamed), call.maxTokens) };
    const { costUsd } = deps.usage.count({ ...about, lane, usage, receiptId: receipt }, admission);
    return { usageEstimated: usage, costUsd };
  };
  let isClosed = false;
  const close = (closing: Parameters<Ledger["close"]>[1]): void => {
    if (isClosed) return;
    isClosed = true;
    deps.ledger.close(receipt, {
      ...closing,
      metadata: { provider, model: call.model, attempt: tries, firstTokenMs, ...closing.metadata },
    });
  };

  const patience = watchPatience({ ...attempt, model: call.model }, () => firstTokenMs !== null);
  const signal = AbortSignal.any([context.signal, patience.signal]);
  const iterator = attempt.stream(request, { ...call, onActivity: patience.heard }, signal)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await settleOrAbort(iterator.next(), signal);
      if (next.done === true)
        throw new LancelotError("internal", `${attempt.displayName} ended without an answer.`, { data: { reason: "answer" } });
      patience.heard();
      const event = next.value;
      if (event.type === "done") {
        const { usage } = event;
        const counted = deps.usage?.count({ ...about, lane, usage, receiptId: receipt }, admission);
        close({
          status: "success",
          outputs: summarizeAnswer(event),
          tokenCount: usage.inputTokens + usage.outputTokens,
          metadata: { usage, ...(counted === undefined ? {} : { costUsd: counted.costUsd }) },
        });
        yield event;
        return;
      }
      if (event.type !== "retry") firstTokenMs ??= now() - startedAt;
      if (event.type === "text" || event.type === "thinking") streamed += Buffer.byteLength(event.text);
      yield event;
    }
  } catch (cause) {
    const error =
      patience.signal.aborted && !context.signal.aborted
        ? patience.error(firstTokenMs !== null)
        : toLancelotError(cause, attempt, context.signal);
    close({ status: error.code === "cancelled" ? "cancelled" : "failure", errorMessage: error.message, metadata: countCut() });
    throw error;
  } finally {
    // Also when the consumer leaves early: the connection ends with it.
    patience.end();
    close({ status: "cancelled", errorMessage: "Stopped.", metadata: countCut() });
    admission?.release();
    iterator.return?.().catch(() => undefined);
  }
}

/** A promise's outcome, or a rejection as soon as the signal fires: no provider can hold a stop up. */
function settleOrAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new LancelotError("cancelled", "Stopped."));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function toLancelotError(cause: unknown, { displayName }: Attempt, signal: AbortSignal): LancelotError {
  if (signal.aborted) return new LancelotError("cancelled", "Stopped.", { cause });
  if (cause instanceof LancelotError) return cause;
  return new LancelotError("internal", `The call to ${displayName} failed unexpectedly. See the log (*Lancelot: Show Log*).`, { cause });
}
