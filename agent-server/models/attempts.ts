import { setTimeout as wait } from "node:timers/promises";
import type { ProviderKind } from "../contract/models.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Redactor } from "../security/security.ts";
import type { ModelEvent, ModelRequest } from "./models.ts";
import type { Provider, ProviderCall } from "./providers/provider.ts";

/** Limits of one try, in ms. */
export interface Limits {
  /** Silence allowed before the first words (or thoughts). */
  firstTokenMs: number;
  /** Silence allowed after them. */
  idleMs: number;
}

export interface Attempt {
  /** Name in models.yaml, and the one shown. */
  provider: string;
  displayName: string;
  kind: ProviderKind;
  lane: string;
  call: ProviderCall;
  limits: Limits;
  stream: Provider["stream"];
}

export interface AttemptDeps {
  ledger: Ledger;
  redactor: Redactor;
  /** Waits, or rejects when the signal fires. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** 0 to 1. */
  random?: () => number;
  now?: () => number;
}

const maxTries = 4;
/** Waiting a minute for nothing twice is enough. */
const maxTimeouts = 2;
const maxWaitMs = 60_000;
/** A server that only ever says that it lives does not answer. */
const firstTokenCapMs = 900_000;

/**
 * One answer in as many tries as it may take, each a receipt opened before its request. A `retry` event precedes every try
 * but the first and takes back what the one before it streamed.
 * @throws LancelotError worded for the owner.
 */
export async function* answerInAttempts(
  deps: AttemptDeps,
  attempt: Attempt,
  request: ModelRequest,
  context: { questId: string | null; parentId: string | null; signal: AbortSignal },
): AsyncGenerator<ModelEvent> {
  const sleep = deps.sleep ?? ((ms, signal) => wait(ms, undefined, { signal }));
  const random = deps.random ?? Math.random;
  let timeouts = 0;
  for (let tries = 1; ; tries++) {
    let error: LancelotError;
    try {
      yield* tryOnce(deps, attempt, request, context, tries);
      return;
    } catch (cause) {
      error = toLancelotError(cause, attempt, context.signal);
    }
    if (error.data?.["reason"] === "timeout") timeouts++;
    const delayMs = error.data?.["retryable"] === true && tries < maxTries && timeouts < maxTimeouts ? delayOf(error, tries, random) : null;
    if (delayMs === null) throw conclude(deps.redactor, error, tries);
    yield { type: "retry", attempt: tries + 1, delayMs, reason: deps.redactor.text(error.message).text };
    try {
      await sleep(delayMs, context.signal);
    } catch (cause) {
      throw toLancelotError(cause, attempt, context.signal);
    }
  }
}

/** What the provider asked to wait, else 0.5, 1, 2 … s with jitter; null when it asked for longer than anyone waits. */
function delayOf(error: LancelotError, tries: number, random: () => number): number | null {
  const asked = error.data?.["retryAfterMs"];
  if (typeof asked === "number") return asked > maxWaitMs ? null : Math.ceil(asked);
  return Math.round(500 * 2 ** (tries - 1) * (0.5 + random() / 2));
}

function conclude(redactor: Redactor, error: LancelotError, tries: number): LancelotError {
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
  return new LancelotError(error.code, text + advice, { data: { ...error.data, tries }, cause: error });
}

async function* tryOnce(
  deps: AttemptDeps,
  attempt: Attempt,
  request: ModelRequest,
  context: { questId: string | null; parentId: string | null; signal: AbortSignal },
  tries: number,
): AsyncGenerator<ModelEvent> {
  if (context.signal.aborted) throw new LancelotError("cancelled", "Stopped.");
  const now = deps.now ?? Date.now;
  const receipt = openReceipt(deps, attempt, request, context, tries);
  const startedAt = now();
  let firstTokenMs: number | null = null;
  let isClosed = false;
  const close = (closing: Parameters<Ledger["close"]>[1]): void => {
    if (isClosed) return;
    isClosed = true;
    deps.ledger.close(receipt, {
      ...closing,
      metadata: { provider: attempt.provider, model: attempt.call.model, attempt: tries, firstTokenMs, ...closing.metadata },
    });
  };

  const silence = watchSilence(attempt, () => firstTokenMs !== null);
  const signal = AbortSignal.any([context.signal, silence.signal]);
  const iterator = attempt.stream(request, { ...attempt.call, onActivity: silence.heard }, signal)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await settleOrAbort(iterator.next(), signal);
      if (next.done === true) throw new LancelotError("internal", `${attempt.displayName} ended without an answer.`);
      silence.heard();
      const event = next.value;
      if (event.type === "done") {
        close({
          status: "success",
          outputs: summarizeAnswer(event),
          tokenCount: event.usage.inputTokens + event.usage.outputTokens,
          metadata: { usage: event.usage },
        });
        yield event;
        return;
      }
      if (event.type !== "retry") firstTokenMs ??= now() - startedAt;
      yield event;
    }
  } catch (cause) {
    const error =
      silence.signal.aborted && !context.signal.aborted
        ? silence.error(firstTokenMs !== null)
        : toLancelotError(cause, attempt, context.signal);
    close({ status: error.code === "cancelled" ? "cancelled" : "failure", errorMessage: error.message });
    throw error;
  } finally {
    // Also when the consumer leaves early: the connection ends with it.
    silence.end();
    close({ status: "cancelled", errorMessage: "Stopped." });
    iterator.return?.().catch(() => undefined);
  }
}

function openReceipt(
  deps: AttemptDeps,
  attempt: Attempt,
  request: ModelRequest,
  context: { questId: string | null; parentId: string | null },
  tries: number,
): string {
  return deps.ledger.open({
    actionType: "llm_call",
    actionName: `${attempt.provider}/${attempt.call.model}`,
    inputs: deps.redactor.value({
      messages: request.messages.length,
      tools: request.tools.length,
      maxTokens: attempt.call.maxTokens,
      lastMessage: summarizeLast(request),
    }),
    riskTier: "T0",
    cognitionTier: "SYNTHESIS",
    parentId: context.parentId,
    questId: context.questId,
    metadata: { provider: attempt.provider, kind: attempt.kind, model: attempt.call.model, lane: attempt.lane, attempt: tries },
  });
}

/** Aborts its signal when nothing was heard for too long. */
function watchSilence(attempt: Attempt, hasToken: () => boolean) {
  const controller = new AbortController();
  const { firstTokenMs, idleMs } = attempt.limits;
  const expire = (): void => controller.abort();
  const cap = setTimeout(() => hasToken() || expire(), Math.max(firstTokenCapMs, firstTokenMs));
  let timer = setTimeout(expire, firstTokenMs);
  let limit = firstTokenMs;
  return {
    signal: controller.signal,
    heard: (): void => {
      if (controller.signal.aborted) return;
      const wanted = hasToken() ? idleMs : firstTokenMs;
      // `refresh` costs nothing, and this is called for every piece of a stream.
      if (wanted === limit) timer.refresh();
      else {
        clearTimeout(timer);
        timer = setTimeout(expire, wanted);
        limit = wanted;
      }
    },
    end: (): void => {
      clearTimeout(cap);
      clearTimeout(timer);
      controller.abort();
    },
    error: (began: boolean): LancelotError => {
      const seconds = Math.max(1, Math.round((began ? idleMs : firstTokenMs) / 1000));
      const message = began
        ? `${attempt.displayName} fell silent for ${seconds} s in the middle of an answer.`
        : `${attempt.displayName} did not begin to answer within ${seconds} s.`;
      return new LancelotError("unavailable", message, {
        data: { provider: attempt.displayName, model: attempt.call.model, reason: "timeout", retryable: attempt.kind !== "local" },
      });
    },
  };
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

function toLancelotError(cause: unknown, attempt: Attempt, signal: AbortSignal): LancelotError {
  if (signal.aborted) return new LancelotError("cancelled", "Stopped.", { cause });
  if (cause instanceof LancelotError) return cause;
  return new LancelotError("internal", `The call to ${attempt.displayName} failed unexpectedly. See the log (*Lancelot: Show log*).`, {
    cause,
  });
}

const summaryLength = 500;
function bounded(text: string, length = summaryLength): string {
  return text.length > length ? `${text.slice(0, length)}… (${text.length} characters)` : text;
}

function summarizeLast(request: ModelRequest): string {
  const last = request.messages.at(-1);
  if (last === undefined) return "";
  if (last.role === "tool")
    return last.results
      .map((result) => `${result.name}${result.isError ? " failed" : ""}: ${bounded(result.text, 100)}`)
      .join("\n")
      .slice(0, 1000);
  return bounded(last.content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n"));
}

function summarizeAnswer(done: Extract<ModelEvent, { type: "done" }>): Record<string, unknown> {
  const text = done.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const calls = done.content.flatMap((part) =>
    part.type === "tool_call" ? [{ name: part.name, args: bounded(JSON.stringify(part.args)) }] : [],
  );
  return { text: bounded(text), toolCalls: calls.slice(0, 20), malformedCalls: done.malformed.length, stop: done.stop };
}
