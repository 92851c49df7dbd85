import { LancelotError, type ErrorCode } from "../../contract/errors.ts";
import type { ModelEvent } from "../request.ts";
import type { Connection } from "./types.ts";
import { isRecord } from "./is-record.ts";
import { AnswerTooLargeError, CutStreamError, InvalidItemError, ReportedError, UnusableAnswerError } from "./stream-errors.ts";
import { tooLargeError } from "../answer-limits.ts";

/** Why an attempt failed; `action` is the button that the chat shows with the message. */
type FailureReason =
  | "key"
  | "refused"
  | "model"
  | "too_long"
  | "rate_limited"
  | "credit"
  | "overloaded"
  | "server"
  | "network"
  | "cut"
  | "request";

interface Failure {
  code: ErrorCode;
  reason: FailureReason;
  message: string;
  retryable?: boolean;
  action?: "set_key" | "choose_model";
}

/** Passes a provider's events through and converts its errors to messages for the user. */
export async function* mapErrors(
  events: () => AsyncIterable<ModelEvent>,
  about: { connection: Connection; model: string; signal: AbortSignal; retryAfterMs?: () => number | undefined },
): AsyncGenerator<ModelEvent> {
  try {
    yield* events();
  } catch (cause) {
    throw mapError(cause, about);
  }
}

/** The user's error for a provider's failure, with `data.retryable` where a retry may help. */
export function mapError(
  cause: unknown,
  about: { connection: Connection; model: string; signal: AbortSignal; retryAfterMs?: () => number | undefined },
): LancelotError {
  if (about.signal.aborted) return new LancelotError("cancelled", "Stopped.", { cause });
  for (const error of causes(cause)) {
    if (error instanceof LancelotError) return error;
    if (error instanceof AnswerTooLargeError) return tooLargeError(error, { ...about.connection, model: about.model });
  }
  const failure = classify(cause, about.connection, about.model);
  const retryAfterMs = failure.retryable === true ? about.retryAfterMs?.() : undefined;
  return new LancelotError(failure.code, failure.message, {
    cause,
    data: {
      provider: about.connection.displayName,
      model: about.model,
      reason: failure.reason,
      retryable: failure.retryable === true,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(failure.action === undefined ? {} : { action: failure.action }),
    },
  });
}

const tooLong =
  /context_length_exceeded|prompt is too long|(maximum|max) (context|prompt) (length|size)|context (length|window|size)|input (is )?too long|input token count|too many (input )?tokens|exceeds? the (available )?(context|token)|request_too_large/i;
const badKey =
  /api[ _-]?key (is )?(not valid|invalid|expired)|invalid[ _-](api[ _-])?key|API_KEY_INVALID|authentication_error|invalid x-api-key/i;
const noCredit = /insufficient_quota|credit balance|billing|spend[ _]limit|exceeded your current quota, please check your plan/i;

function classify(cause: unknown, connection: Connection, model: string): Failure {
  const name = connection.displayName;
  const status = statusOf(cause);
  const words = wordsOf(cause);
  const said = words === "" ? "" : ` It said: ${words}`;
  const type = typeOf(cause);
  const all = `${type} ${words}`;

  if (cause instanceof CutStreamError || cause instanceof SyntaxError)
    return {
      code: "unavailable",
      reason: "cut",
      retryable: true,
      message: `The connection to ${name} was lost during an answer.`,
    };
  const unusable = causes(cause).find((error) => error instanceof UnusableAnswerError);
  if (unusable !== undefined) return unusableAnswer(unusable, name);
  const invalid = causes(cause).find((error) => error instanceof InvalidItemError);
  if (invalid !== undefined) return invalidItem(invalid.problem, name);
  if (status === undefined && type === "") return network(cause, connection);

  if (status === 401 || badKey.test(all)) {
    const message =
      connection.key === null
        ? `${name} requires an API key. Set api_key_name in config/models.yaml, then set the key.`
        : `${name} rejected the API key. Set a valid one.`;
    return { code: "unavailable", reason: "key", action: "set_key", message };
  }
  if (tooLong.test(all) || status === 413)
    return {
      code: "too_large",
      reason: "too_long",
      message: `The conversation is too long for ${model}. Start a new task, or choose a model with a larger context window.`,
      action: "choose_model",
    };
  if (status === 402 || noCredit.test(all))
    return {
      code: "unavailable",
      reason: "credit",
      action: "choose_model",
      message: `Your ${name} account has no credit. Check its plan and billing, or choose another model.${said}`,
    };
  if (status === 429 || /rate_limit/.test(type))
    return { code: "rate_limited", reason: "rate_limited", retryable: true, message: `${name} is limiting requests (429).` };
  if (status === 403)
    return {
      code: "unavailable",
      reason: "refused",
      action: "choose_model",
      message: `${name} denied access to ${model} (403). Check the permissions of the key, or choose another model.${said}`,
    };
  if (status === 404)
    return {
      code: "not_found",
      reason: "model",
      action: "choose_model",
      message: `${name} has no model named ${model}, or base_url in config/models.yaml is wrong (404). Run *Lancelot: Choose Model*.${said}`,
    };
  if (status === 529 || status === 503 || /overloaded/.test(type))
    return { code: "unavailable", reason: "overloaded", retryable: true, message: `${name} is overloaded (${status ?? 529}).` };
  if (
    status === 408 ||
    (status === undefined ? /\b(api_error|server_error|internal|unavailable|timeout_error)\b/i.test(type) : status >= 500)
  )
    return { code: "unavailable", reason: "server", retryable: true, message: `${name} had an internal error (${status ?? type}).` };
  return {
    code: "unavailable",
    reason: "request",
    action: "choose_model",
    message: `${name} rejected the request${status === undefined ? "" : ` (${status})`}.${said}`,
  };
}

function unusableAnswer({ what }: UnusableAnswerError, name: string): Failure {
  const message = {
    page: `${name} returned a web page instead of an answer. Check base_url in config/models.yaml; a proxy or a sign-in page may be in between.`,
    no_stream: `${name} does not use the expected format. Check base_url and kind in config/models.yaml.`,
    too_long: `${name} sent a response that is too long. Check base_url in config/models.yaml.`,
  }[what];
  return { code: "unavailable", reason: "server", action: "choose_model", message };
}

/** Retried, because a broken proxy can be the reason, and because the next server of a pool may be sound. */
function invalidItem(problem: string, name: string): Failure {
  const message = `${name} sent ${problem}. Check base_url and kind in config/models.yaml, or choose another model.`;
  return { code: "unavailable", reason: "server", retryable: true, action: "choose_model", message };
}

const brokenConnection = new Set([
  "ECONNRESET",
  "EPIPE",
  "ECONNABORTED",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_CLOSED",
  "UND_ERR_DESTROYED",
]);

function network(cause: unknown, connection: Connection): Failure {
  const { host } = new URL(connection.baseUrl);
  const chain = causes(cause);
  const codes = chain.map((error) => String(Reflect.get(error, "code") ?? ""));
  const text = chain.map((error) => error.message).join(" ");
  if (codes.includes("ECONNREFUSED"))
    return {
      code: "unavailable",
      reason: "network",
      action: "choose_model",
      message: `No server responds at ${host}. Start the server, or check base_url in config/models.yaml.`,
    };
  if (codes.some((code) => ["ENOTFOUND", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN"].includes(code)))
    return { code: "unavailable", reason: "network", message: `${host} cannot be reached. Check the network connection.` };
  if (
    codes.some((code) => brokenConnection.has(code)) ||
    /terminated|socket hang up|other side closed|fetch failed|Premature close|Incomplete JSON segment|Connection error/i.test(text)
  )
    return { code: "unavailable", reason: "cut", retryable: true, message: `The connection to ${host} was lost.` };
  if (codes.some((code) => /CERT|TLS|SSL/.test(code)))
    return {
      code: "unavailable",
      reason: "network",
      message: `The certificate of ${host} is not trusted here. Behind a proxy that inspects traffic, add its certificate to the trusted certificates of this machine.`,
    };
  // The words of an internal error would tell the user nothing.
  return { code: "unavailable", reason: "server", action: "choose_model", message: `${connection.displayName} sent an invalid answer.` };
}

function causes(error: unknown): Error[] {
  const chain: Error[] = [];
  const add = (next: unknown): void => {
    if (!(next instanceof Error) || chain.length > 10) return;
    chain.push(next);
    if (next instanceof AggregateError) for (const inner of next.errors) add(inner);
    add(next.cause);
  };
  add(error);
  return chain;
}

/** The HTTP status of a rejection, from any of its representations. */
export function statusOf(error: unknown): number | undefined {
  const status: unknown = error instanceof Error ? Reflect.get(error, "status") : undefined;
  return typeof status === "number" ? status : undefined;
}

/** The provider's error code; empty for an error that is not the provider's. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const body = bodyOf(error);
  const names = [Reflect.get(error, "type"), Reflect.get(error, "code"), body?.["type"], body?.["code"], body?.["status"]];
  const isApiError = statusOf(error) !== undefined || error instanceof ReportedError || Reflect.get(error, "error") !== undefined;
  return isApiError ? names.filter((value) => typeof value === "string").join(" ") : "";
}

/** The provider's error message in one bounded line, without web pages. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const said = bodyOf(error)?.["message"];
  const text = typeof said === "string" ? said : error.message;
  if (/<(!doctype|html|head|body)\b/i.test(text)) return "";
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** The innermost object of an error body: SDKs keep `{error: {…}}`, the object itself, or the body as text in the message. */
function bodyOf(error: Error): Record<string, unknown> | undefined {
  let body: unknown = Reflect.get(error, "error");
  if (body === undefined && error.message.startsWith("{"))
    try {
      body = JSON.parse(error.message);
    } catch {
      return undefined;
    }
  while (isRecord(body) && isRecord(body["error"])) body = body["error"];
  if (typeof body === "string") return { message: body };
  if (!isRecord(body)) return undefined;
  // Ollama uses `error`, FastAPI `detail`.
  const said = [body["message"], body["error"], body["detail"]].find((value) => typeof value === "string");
  return said === undefined ? body : { ...body, message: said };
}
