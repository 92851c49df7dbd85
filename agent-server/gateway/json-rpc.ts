import * as z from "zod";
import { LancelotError, rpcNumbers } from "../contract/errors.ts";
import type { CallContext } from "../contract/table.ts";
import { asLancelotError, type Dispatch } from "./dispatch.ts";

const RpcId = z.union([z.string(), z.number(), z.null()]);
const RpcRequest = z.object({ jsonrpc: z.literal("2.0"), id: RpcId.optional(), method: z.string(), params: z.unknown().optional() });

interface RpcResponse {
  jsonrpc: "2.0";
  id: string | number | null;
  result?: unknown;
  error?: { code: number; message: string; data: Record<string, unknown> };
}

const maxBatch = 100;

/** An error in JSON-RPC form: a number in `code`, the contract's code in `data.code`. */
export function rpcError(error: LancelotError): { code: number; message: string; data: Record<string, unknown> } {
  return { code: rpcNumbers[error.code], message: error.message, data: { ...error.data, code: error.code } };
}

/**
 * Answers a JSON-RPC 2.0 body, single or batch.
 * @returns undefined when there is nothing to answer (only notifications)
 */
export async function answerRpc(body: unknown, dispatch: Dispatch, call: CallContext): Promise<RpcResponse | RpcResponse[] | undefined> {
  if (!Array.isArray(body)) return answerOne(body, dispatch, call);
  if (body.length === 0) return failure(null, -32600, "The batch is empty.");
  if (body.length > maxBatch) return failure(null, -32600, `A batch can have at most ${maxBatch} requests.`);
  const answers = await Promise.all(body.map((entry) => answerOne(entry, dispatch, call)));
  const sent = answers.filter((answer) => answer !== undefined);
  return sent.length > 0 ? sent : undefined;
}

async function answerOne(entry: unknown, dispatch: Dispatch, call: CallContext): Promise<RpcResponse | undefined> {
  const request = RpcRequest.safeParse(entry);
  if (!request.success) return failure(null, -32600, "This is not a JSON-RPC 2.0 request.");
  const { id, params } = request.data;
  const method = request.data.method.replace(/^lancelot\//, "");
  try {
    const result = await dispatch(method, params, call);
    return id === undefined ? undefined : { jsonrpc: "2.0", id, result };
  } catch (error) {
    if (id === undefined) return undefined;
    const known = asLancelotError(error);
    const unknownMethod = known.code === "not_found" && known.data?.["method"] === method;
    return { jsonrpc: "2.0", id, error: { ...rpcError(known), ...(unknownMethod ? { code: -32601 } : {}) } };
  }
}

function failure(id: null, code: number, message: string): RpcResponse {
  return { jsonrpc: "2.0", id, error: { code, message, data: { code: "invalid_params" } } };
}

/** The answer to a body that is not JSON. */
export function parseFailure(): RpcResponse {
  return failure(null, -32700, "The request body is not valid JSON.");
}
