import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { laterMethods } from "../contract/later.ts";
import { type CallContext, type Handlers, isMethodName, type MethodName, methods } from "../contract/table.ts";

/** Runs a method by name with params as they came over a wire. Always rejects with a LancelotError. */
export type Dispatch = (name: string, params: unknown, call: CallContext) => Promise<unknown>;

/**
 * The one place where calls of every transport meet the handlers: name, owner, params and result are checked here.
 * @param onInternal told of errors whose text must not leave the host.
 */
export function createDispatch(handlers: Handlers, onInternal: (method: string, error: unknown) => void): Dispatch {
  const later = new Set(laterMethods);
  return async (name, params, call) => {
    if (!isMethodName(name)) {
      if (later.has(name))
        throw new LancelotError("unavailable", `${name} is not part of this version of Lancelot.`, {
          data: { what: name, nextStep: "Update Lancelot when a version with it is out." },
        });
      throw new LancelotError("not_found", `There is no method ${name}.`, { data: { method: name } });
    }
    const method = methods[name];
    if (method.access === "owner" && !call.owner) throw new LancelotError("unauthorized", `${name} needs the owner token.`);
    const parsed = method.params.safeParse(params ?? {});
    if (!parsed.success)
      throw new LancelotError("invalid_params", `${name}: ${z.prettifyError(parsed.error)}`, {
        data: { issues: parsed.error.issues.slice(0, 20) },
      });
    try {
      const result = await run(handlers, name, parsed.data, call);
      return method.result.parse(result);
    } catch (error) {
      if (error instanceof LancelotError) throw error;
      if (call.signal.aborted) throw new LancelotError("cancelled", `${name} was cancelled.`, { cause: error });
      onInternal(name, error);
      throw new LancelotError("internal", `${name} failed inside the host. The log says why (Lancelot: Show log).`, { cause: error });
    }
  };
}

/** The table guarantees that `params` are those of `name`; the compiler cannot follow that through a union of methods. */
function run(handlers: Handlers, name: MethodName, params: unknown, call: CallContext): unknown {
  const handler = handlers[name] as (params: unknown, call: CallContext) => unknown;
  return handler(params, call);
}

/** Any error as a LancelotError, for transports that must answer something. */
export function asLancelotError(error: unknown): LancelotError {
  return error instanceof LancelotError
    ? error
    : new LancelotError("internal", "The host failed. The log says why (Lancelot: Show log).", { cause: error });
}
