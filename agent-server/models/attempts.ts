import { setTimeout as wait } from "node:timers/promises";
import { noUsage } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor } from "../security/security.ts";
import { type AnswerLimits, boundAnswer, createAnswerMeter } from "./answer-limits.ts";
import { type CallSettings, openCallReceipt, summarizeAnswer } from "./call-receipt.ts";
import type { Provider } from "./providers/types.ts";
import type { ModelEvent, ModelRequest } from "./request.ts";
import type { Breakers } from "./resilience/breakers.ts";
import { type Limits, watchTimeouts } from "./resilience/timeouts.ts";
import { promptTokens, tokensOf } from "./prompt-tokens.ts";
import type { UsageBook } from "./usage/types.ts";

/** How one model is called. */
export interface Attempt extends CallSettings {
  displayName: string;
  /** Host and port; null for a model without a server. */
  server: string | null;
  /** A local model costs nothing unless the price table says otherwise; the embedded one has no circuit breaker. */
  onThisMachine: boolean;
  limits: Limits;
  answer: AnswerLimits;
  retries: Retries;
  stream: Provider["stream"];
}

export interface Retries {
  tries: number;
  /** Longest delay before the first retry; it doubles with each (ms). */
  baseMs: number;
  /** Longest delay that a provider may request (ms). */
  maxWaitMs: number;
  /** After so many characters of all attempts together, an answer is not begun again: what has arrived is worth more than another try. */
  maxCharacters: number;
}

export interface AttemptDeps {
  ledger: Ledger;
  redactor: Redactor;
  /** Without it, usage is not counted and caps do not apply. */
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

/** A timeout is retried once: a second one most likely means the same again. */
const maxTimeouts = 2;

/**
 * Streams one answer in as many attempts as the owner's retry settings allow. Each attempt is a receipt that is opened before its request.
 * A `retry` event precedes every attempt but the first and discards what the one before it streamed.
 * @throws LancelotError with a message for the user
 */
export async function* answerInAttempts(
  deps: AttemptDeps,
  settings: Attempt,
  request: ModelRequest,
  context: CallContext,
): AsyncGenerator<ModelEvent> {
  const sleep = deps.sleep ?? ((ms, signal) => wait(ms, undefined, { signal }));
  const random = deps.random ?? Math.random;
  const { retries } = settings;
  let timeouts = 0;
  let arrived = 0;
  for (let tries = 1; ; tries++) {
    let error: LancelotError;
    let reportToBreaker: ((ended: LancelotError | null) => void) | undefined;
    let ended: LancelotError | null = stopped();
    try {
      if (context.signal.aborted) throw ended;
      reportToBreaker = await deps.breakers?.enter({ name: settings.provider, displayName: settings.displayName });
      await deps.ledger.ready(context.signal);
      const attempt = startAttempt(deps, settings, request, context, tries);
      try {
        for (;;) {
          const event = await attempt.next();
          if (event.type !== "done") {
            yield event;
            continue;
          }
          // Set before the consumer has the event, since a consumer that leaves now has its answer.
          ended = null;
          yield event;
          return;
        }
      } catch (cause) {
        await deps.ledger.ready().catch(() => undefined);
        throw attempt.fail(cause);
      } finally {
        arrived += attempt.characters();
        attempt.end();
      }
    } catch (cause) {
      error = ended = toLancelotError(cause, settings, context.signal);
    } finally {
      reportToBreaker?.(ended);
    }
    if (error.data?.["reason"] === "timeout") timeouts++;
    if (error.data?.["retryable"] === true && arrived > retries.maxCharacters) throw keptError(deps.redactor, error, arrived);
    const mayRetry = error.data?.["retryable"] === true && tries < retries.tries && timeouts < maxTimeouts;
    const delayMs = mayRetry ? delayOf(error, tries, retries, random) : null;
    if (delayMs === null) throw finalError(deps.redactor, error, tries, retries);
    yield { type: "retry", attempt: tries + 1, delayMs, reason: deps.redactor.text(error.message).text };
    try {
      await sleep(delayMs, context.signal);
    } catch (cause) {
      throw toLancelotError(cause, settings, context.signal);
    }
  }
}

/** What the provider asked to wait, otherwise a random part of 0.5, 1, 2 … s. Null: it asked for longer than the owner's limit. */
function delayOf(error: LancelotError, tries: number, { baseMs, maxWaitMs }: Retries, random: () => number): number | null {
  const asked = error.data?.["retryAfterMs"];
  if (typeof asked === "number") return asked > maxWaitMs ? null : Math.ceil(asked);
  return Math.round(baseMs * 2 ** (tries - 1) * random());
}

/** The error of the last attempt, redacted, with the advice to try again where that may help. */
function finalError(redactor: Redactor, error: LancelotError, tries: number, { maxWaitMs }: Retries): LancelotError {
  const { text } = redactor.text(error.message);
  if (error.data?.["retryable"] !== true)
    return text === error.message
      ? error
      : new LancelotError(error.code, text, { ...(error.data === undefined ? {} : { data: error.data }), cause: error });
  const asked = error.data["retryAfterMs"];
  const attempts = tries === 1 ? "" : ` Failed after ${tries} attempts.`;
  const advice =
    typeof asked === "number" && asked > maxWaitMs
      ? `${attempts} Try again in ${Math.ceil(asked / 60_000)} min.`
      : `${attempts} Try again in a minute.`;
  return new LancelotError(error.code, text + advice, { data: { ...error.data, tries, plainMessage: text }, cause: error });
}

/** The error of an attempt that is not repeated, because so much of the answer has arrived. `keepsAnswer` keeps it from other models too. */
function keptError(redactor: Redactor, error: LancelotError, characters: number): LancelotError {
  const { text } = redactor.text(error.message);
  const advice = ` ${characters.toLocaleString("en-US")} characters had arrived. They are kept, and the answer is not begun again. Resume to continue.`;
  return new LancelotError(error.code, text + advice, {
    data: { ...error.data, retryable: false, keepsAnswer: true, action: "resume", plainMessage: text },
    cause: error,
  });
}

interface RunningAttempt {
  /** Characters that have arrived. */
  characters(): number;
  /** The next event. */
  next(): Promise<ModelEvent>;
  /** Closes the receipt as a failure. @returns the error for the user */
  fail(cause: unknown): LancelotError;
  /** Ends the connection; without a `done` event or failure before, the receipt is closed as cancelled. */
  end(): void;
}

function startAttempt(deps: AttemptDeps, settings: Attempt, request: ModelRequest, context: CallContext, tries: number): RunningAttempt {
  const now = deps.now ?? Date.now;
  const { provider, kind, lane, onThisMachine, call } = settings;
  const about = { questId: context.questId, provider, kind, model: call.model, onThisMachine };
  const inputTokens = promptTokens(request);
  const admission = deps.usage?.admit({ ...about, inputTokens, maxTokens: call.maxTokens });
  const receipt = openCallReceipt(deps, settings, request, context, tries);
  const startedAt = now();
  let firstTokenMs: number | null = null;
  let streamedBytes = 0;
  let isClosed = false;
  const close = (closing: Parameters<Ledger["close"]>[1]): void => {
    if (isClosed) return;
    isClosed = true;
    deps.ledger.close(receipt, {
      ...closing,
      metadata: { provider, model: call.model, attempt: tries, firstTokenMs, ...closing.metadata },
    });
  };
  /** Providers charge for an interrupted answer but report no usage for it. The estimate is high, so that caps hold. */
  const countInterrupted = (): Record<string, unknown> => {
    if (isClosed || streamedBytes === 0 || deps.usage === undefined) return {};
    const usage = { ...noUsage(), inputTokens, outputTokens: Math.min(tokensOf(streamedBytes), call.maxTokens) };
    const { costUsd } = deps.usage.count({ ...about, lane, usage, receiptId: receipt }, admission);
    return { usageEstimated: usage, costUsd };
  };

  const timeouts = watchTimeouts({ ...settings, model: call.model }, () => firstTokenMs !== null);
  const signal = AbortSignal.any([context.signal, timeouts.signal]);
  const meter = createAnswerMeter(settings.answer);
  const answer = settings.stream(request, { ...call, onActivity: timeouts.heard, meter }, signal);
  const bounded: AsyncIterable<ModelEvent> = boundAnswer(answer, meter, { displayName: settings.displayName, model: call.model });
  const iterator = bounded[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<ModelEvent>> | null = null;
  return {
    characters: () => meter.total,
    async next() {
      pending ??= iterator.next();
      const { displayName, server, limits } = settings;
      const next = await settleOrAbort(firstTokenMs === null ? within(pending, limits.progressMs) : pending, signal);
      if (next === null) return { type: "waiting", displayName, server, elapsedMs: now() - startedAt, limitMs: limits.firstTokenMs };
      pending = null;
      if (next.done === true)
        throw new LancelotError("internal", `${settings.displayName} ended without an answer.`, { data: { reason: "answer" } });
      timeouts.heard();
      const event = next.value;
      if (event.type === "done") {
        await deps.ledger.ready(context.signal);
        const { usage } = event;
        const counted = deps.usage?.count({ ...about, lane, usage, receiptId: receipt }, admission);
        close({
          status: "success",
          outputs: summarizeAnswer(event),
          tokenCount: usage.inputTokens + usage.outputTokens,
          metadata: { usage, ...(counted === undefined ? {} : { costUsd: counted.costUsd }) },
        });
        return event;
      }
      if (event.type !== "retry") firstTokenMs ??= now() - startedAt;
      if (event.type === "text" || event.type === "thinking") streamedBytes += Buffer.byteLength(event.text);
      return event;
    },
    fail(cause) {
      const isTimeout = timeouts.signal.aborted && !context.signal.aborted;
      const error = isTimeout ? timeouts.error(firstTokenMs !== null) : toLancelotError(cause, settings, context.signal);
      close({ status: error.code === "cancelled" ? "cancelled" : "failure", errorMessage: error.message, metadata: countInterrupted() });
      return error;
    },
    end() {
      timeouts.end();
      close({ status: "cancelled", errorMessage: "Stopped.", metadata: countInterrupted() });
      admission?.release();
      iterator.return?.().catch(() => undefined);
    },
  };
}

/** The result of a promise, or null when it takes longer. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles with the promise, or rejects as soon as the signal fires, so that no provider delays a stop. */
function settleOrAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(stopped());
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function toLancelotError(cause: unknown, { displayName }: Attempt, signal: AbortSignal): LancelotError {
  if (signal.aborted) return stopped(cause);
  if (cause instanceof LancelotError) return cause;
  return new LancelotError("internal", `The call to ${displayName} failed unexpectedly. See the log (*Lancelot: Show Log*).`, { cause });
}

function stopped(cause?: unknown): LancelotError {
  return new LancelotError("cancelled", "Stopped.", { cause });
}
