import { describe, expect, it } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import { readRetryAfter } from "../../../../agent-server/models/providers/connection.ts";
import { mapError } from "../../../../agent-server/models/providers/error-mapping.ts";
import { CutStreamError, ReportedError } from "../../../../agent-server/models/providers/stream-errors.ts";

const connection = { kind: "anthropic" as const, displayName: "Anthropic", baseUrl: "https://api.anthropic.com", key: "k", fetch };
const signal = new AbortController().signal;

function word(cause: unknown, more: Partial<typeof connection> | { key: null } = {}): LancelotError {
  return mapError(cause, { connection: { ...connection, ...more }, model: "claude-x", signal });
}

/** As the SDKs throw it: a status and the body's error object. */
function api(status: number | undefined, error: Record<string, unknown> = {}): Error {
  return Object.assign(new Error(`${status} ${JSON.stringify(error)}`), { status, error });
}

/** As Gemini's SDK throws it: the body as text. */
function gemini(status: number, error: Record<string, unknown>): Error {
  return Object.assign(new Error(JSON.stringify({ error })), { status });
}

/** As undici throws it. */
function socket(code: string, message = "fetch failed"): Error {
  return new TypeError(message, { cause: Object.assign(new Error(code), { code }) });
}

describe("a provider's failure, worded", () => {
  it.each<[string, unknown, string, boolean, string]>([
    ["401", api(401, { type: "authentication_error", message: "invalid x-api-key" }), "unavailable", false, "key"],
    [
      "Gemini's key",
      gemini(400, {
        code: 400,
        status: "INVALID_ARGUMENT",
        message: "API key not valid. Please pass a valid API key.",
        details: [{ reason: "API_KEY_INVALID" }],
      }),
      "unavailable",
      false,
      "key",
    ],
    ["403", api(403, { type: "permission_error", message: "no access" }), "unavailable", false, "refused"],
    ["404", api(404, { type: "not_found_error", message: "model: claude-x" }), "not_found", false, "model"],
    ["402", api(402, { message: "pay" }), "unavailable", false, "credit"],
    [
      "no credit as 429",
      api(429, { code: "insufficient_quota", message: "You exceeded your current quota, please check your plan and billing details." }),
      "unavailable",
      false,
      "credit",
    ],
    [
      "no credit as 400",
      api(400, { type: "invalid_request_error", message: "Your credit balance is too low to access the Anthropic API." }),
      "unavailable",
      false,
      "credit",
    ],
    [
      "too long",
      api(400, { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" }),
      "too_large",
      false,
      "too_long",
    ],
    ["too long by code", api(400, { code: "context_length_exceeded", message: "…" }), "too_large", false, "too_long"],
    [
      "too long for llama-server",
      api(400, { type: "exceed_context_size_error", message: "the request exceeds the available context size, try increasing it" }),
      "too_large",
      false,
      "too_long",
    ],
    [
      "too long for Gemini",
      gemini(400, {
        status: "INVALID_ARGUMENT",
        message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      }),
      "too_large",
      false,
      "too_long",
    ],
    ["413", api(413, { type: "request_too_large", message: "Request exceeds the maximum size" }), "too_large", false, "too_long"],
    ["400", api(400, { type: "invalid_request_error", message: "tools.0: bad\nschema" }), "unavailable", false, "request"],
    ["429", api(429, { type: "rate_limit_error", message: "slow down" }), "rate_limited", true, "rate_limited"],
    [
      "429 of Gemini",
      gemini(429, { status: "RESOURCE_EXHAUSTED", message: "Resource has been exhausted" }),
      "rate_limited",
      true,
      "rate_limited",
    ],
    ["529", api(529, { type: "overloaded_error", message: "Overloaded" }), "unavailable", true, "overloaded"],
    ["503", gemini(503, { status: "UNAVAILABLE", message: "The model is overloaded." }), "unavailable", true, "overloaded"],
    ["500", api(500, { type: "api_error", message: "Internal server error" }), "unavailable", true, "server"],
    ["502 without a body", api(502), "unavailable", true, "server"],
    ["408", api(408), "unavailable", true, "server"],
    [
      "overload inside a stream",
      api(undefined, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
      "unavailable",
      true,
      "overloaded",
    ],
    ["rate limit inside a stream", new ReportedError("rate_limit_exceeded", "slow"), "rate_limited", true, "rate_limited"],
    ["failure inside a stream", new ReportedError("server_error", "oops"), "unavailable", true, "server"],
    ["a cut stream", new CutStreamError(), "unavailable", true, "cut"],
    ["an event that is no JSON", new SyntaxError("Unexpected token"), "unavailable", true, "cut"],
    ["no such host", socket("ENOTFOUND"), "unavailable", false, "network"],
    ["no network", socket("ENETUNREACH"), "unavailable", false, "network"],
    ["nobody there", socket("ECONNREFUSED"), "unavailable", false, "network"],
    ["a reset", socket("ECONNRESET"), "unavailable", true, "cut"],
    ["a closed socket", socket("UND_ERR_SOCKET", "terminated"), "unavailable", true, "cut"],
    ["a name server in trouble", socket("EAI_AGAIN"), "unavailable", true, "cut"],
    ["an untrusted certificate", socket("SELF_SIGNED_CERT_IN_CHAIN", "no"), "unavailable", false, "network"],
    [
      "both addresses refused",
      new TypeError("fetch failed", { cause: new AggregateError([Object.assign(new Error("x"), { code: "ECONNREFUSED" })]) }),
      "unavailable",
      false,
      "network",
    ],
  ])("%s", (_, cause, code, retryable, reason) => {
    const error = word(cause);
    expect(error.data?.["reason"]).toBe(reason);
    expect(error.code).toBe(code);
    expect(error.data?.["retryable"]).toBe(retryable);
  });

  it("bounds what the provider says", () => {
    expect(word(api(400, { message: "x".repeat(10_000) })).message.length).toBeLessThan(500);
  });

  it("tells a server without a key how to get one", () => {
    expect(word(api(401), { key: null }).message).toContain("api_key_name");
  });

  it("passes the gate's own refusal on", () => {
    const refusal = new LancelotError("denied", "This request is not allowed to reach https://evil.example.");
    expect(word(new TypeError("Connection error.", { cause: refusal }))).toBe(refusal);
  });

  it("is a stop when the owner stopped, whatever was thrown", () => {
    const error = mapError(api(500), { connection, model: "m", signal: AbortSignal.abort() });
    expect(error.code).toBe("cancelled");
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  it.each<[Record<string, string>, number | undefined]>([
    [{}, undefined],
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "1.5" }, 1500],
    [{ "retry-after": "-1" }, 0],
    [{ "retry-after": "Fri, 20 Nov 2026 12:00:10 GMT" }, 10_000],
    [{ "retry-after": "Fri, 20 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "60", "retry-after-ms": "250" }, 250],
  ])("%j", (headers, expected) => {
    expect(readRetryAfter(new Headers(headers), now)).toBe(expected);
  });
});
