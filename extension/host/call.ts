import { wire } from "../../agent-server/contract/editor.ts";
import { ErrorCode, LancelotError } from "../../agent-server/contract/errors.ts";
import { type Call, type MethodName, methods, type ParamsIn, type Result } from "../../agent-server/contract/table.ts";

/** Sends one request and gives the raw answer. */
export type Send = (method: string, params: unknown, signal: AbortSignal | undefined) => Promise<unknown>;

/** JSON-RPC: the request was cancelled; the connection went away before an answer. */
const cancelledNumbers: ReadonlySet<number> = new Set([-32800, -32802]);
const goneNumbers: ReadonlySet<number> = new Set([-32096, -32097, -32099]);

/** The typed way to the host. Results are parsed by the table; every failure is a LancelotError. */
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
      throw new LancelotError("internal", `The agent host gave an answer to ${name} that the extension cannot read.`, {
        cause: parsed.error,
      });
    return parsed.data as Result<M>;
  };
}

/** What JSON-RPC or the transport threw, as the contract's error. */
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
    return new LancelotError("cancelled", "The call was cancelled.", { cause: error });
  if (typeof code === "number" && goneNumbers.has(code))
    return new LancelotError("unavailable", "The agent host stopped before it answered. It is being restarted; try again.", {
      cause: error,
    });
  return new LancelotError("internal", text, { cause: error });
}
