import * as z from "zod";

export const errorCodes = [
  "invalid_params",
  "not_found",
  "unauthorized",
  "denied",
  "needs_approval",
  "disabled",
  "unavailable",
  "conflict",
  "rate_limited",
  "too_large",
  "cancelled",
  "internal",
] as const;

export const ErrorCode = z.enum(errorCodes);
export type ErrorCode = z.infer<typeof ErrorCode>;

/** An error in a response: never contains a stack trace, an absolute path outside the workspace or a secret. */
export const ErrorBody = z.object({
  code: ErrorCode,
  message: z.string(),
  data: z.record(z.string(), z.unknown()).optional(),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/**
 * The product's only error class. `message` tells the user what to do; `cause` is never sent to a client.
 */
export class LancelotError extends Error {
  readonly code: ErrorCode;
  readonly data: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: { data?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "LancelotError";
    this.code = code;
    this.data = options.data;
  }

  toBody(): ErrorBody {
    return this.data === undefined
      ? { code: this.code, message: this.message }
      : { code: this.code, message: this.message, data: this.data };
  }
}

/** Numbers for `error.code` of JSON-RPC 2.0; the string travels in `error.data.code`. */
export const rpcNumbers: Record<ErrorCode, number> = {
  invalid_params: -32602,
  not_found: -32004,
  unauthorized: -32001,
  denied: -32003,
  needs_approval: -32005,
  disabled: -32006,
  unavailable: -32007,
  conflict: -32009,
  rate_limited: -32029,
  too_large: -32013,
  cancelled: -32800,
  internal: -32603,
};

export const httpStatus: Record<ErrorCode, number> = {
  invalid_params: 400,
  not_found: 404,
  unauthorized: 401,
  denied: 403,
  needs_approval: 409,
  disabled: 503,
  unavailable: 503,
  conflict: 409,
  rate_limited: 429,
  too_large: 413,
  cancelled: 499,
  internal: 500,
};
