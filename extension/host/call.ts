import { wire } from "../../agent-server/contract/editor.ts";
import { ErrorCode, LancelotError } from "../../agent-server/contract/errors.ts";
import { type Call, type MethodName, methods, type ParamsIn, type Result } from "../../agent-server/contract/table.ts";

/** Sends one request and returns the raw answer. */
export type Send = (method: string, params: unknown, signal: AbortSignal | undefined) => Promise<unknown>;

/** JSON-RPC error numbers for a cancelled request and for a closed connection. */
const cancelledNumbers: ReadonlySet<number> = new Set([-32800, -32802]);
const goneNumbers: ReadonlySet<number> = new Set([-32096, -32097, -32099]);

/** Typed calls to the host. The contract's schemas parse results; every failure is a LancelotError. */
export function createCall(send: Send): Call {
  return async <M extends MethodName>(name: M, params: ParamsIn<M>, signal?: AbortSignal): Promise<Result<M>> => {
    let answer: unknown;
    try {
      answer = await send(wire.method(name), params, signal);
    } catch (error) {
      throw asLancelotError(error);
    }
    const parsed = methods[name].result.safeParse(answer);
    if (!parsed.success)
      throw new LancelotError(
        "internal",
        `The extension cannot read the agent host's answer to ${name}. Reload the window; if that does not help, reinstall Lancelot.`,
        {
          cause: parsed.error,
        },
      );
    return parsed.data as Result<M>;
  };
}

/** Converts a JSON-RPC or transport error to the contract's error. */
export function asLancelotError(error: unknown): LancelotError {
  if (error instanceof LancelotError) return error;
  const { code, message, data } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    message?: unknown;
    data?: unknown;
  };
  const text = typeof message === "string" ? message : String(error);
  if (typeof data === "object" && data !== null && "code" in data) {
    const { code: word, ...rest } = data as Record<string, unknown>;
    const known = ErrorCode.safeParse(word);
    if (known.success)
      return new LancelotError(known.data, text, { ...(Object.keys(rest).length > 0 ? { data: rest } : {}), cause: error });
  }
  if (typeof code === "number" && cancelledNumbers.has(code))
    return new LancelotError("cancelled", "The request was canceled.", { cause: error });
  if (typeof code === "number" && goneNumbers.has(code))
    return new LancelotError("unavailable", "The agent host stopped before it answered and is restarting. Try again.", {
      cause: error,
    });
  return new LancelotError("internal", text, { cause: error });
}
