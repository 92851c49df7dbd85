import { trimEnd } from "../contract/trim-end.ts";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { unimplementedMethods } from "../contract/unimplemented.ts";
import { maxTextBytes } from "../contract/security.ts";
import { createRedactor, type Redactor } from "../security/security.ts";
import { type CallContext, type Handlers, isMethodName, type MethodName, methods } from "../contract/table.ts";

/** Runs a method by name with unparsed params. Always rejects with a LancelotError. */
export type Dispatch = (name: string, params: unknown, call: CallContext) => Promise<unknown>;

/**
 * The only path from any transport to the handlers: checks name, owner, params and result, and removes secrets
 * from error messages.
 * @param onInternal called with errors whose text must not leave the host.
 * @param onRefused called for calls refused before their handler: without the owner token, or with too much text.
 * @param redactor removes secrets from error messages; the host's own also knows the values of secret files.
 * @param workspace absolute path; error messages name no other absolute paths than those in it and those that the caller sent.
 */
export function createDispatch(
  handlers: Handlers,
  onInternal: (method: string, error: unknown) => void,
  onRefused: (why: "unauthorized" | "too-large", method: string, call: CallContext) => void = () => undefined,
  redactor: Redactor = createRedactor(),
  workspace: string | null = null,
): Dispatch {
  const later = new Set(unimplementedMethods);
  return (name, params, call) =>
    answer(name, params, call).catch((error: unknown) => {
      throw error instanceof LancelotError ? withoutSecrets(error, params) : error;
    });

  function withoutSecrets(error: LancelotError, params: unknown): LancelotError {
    const sent = textsOf(params);
    const clean = (text: string): string => withoutForeignPaths(text, workspace, sent);
    const message = clean(redactor.text(error.message).text);
    const data = error.data === undefined ? undefined : mapTexts(redactor.value(error.data), clean);
    if (message === error.message && JSON.stringify(data) === JSON.stringify(error.data)) return error;
    return new LancelotError(error.code, message, { ...(data === undefined ? {} : { data }), cause: error });
  }

  async function answer(name: string, params: unknown, call: CallContext): Promise<unknown> {
    if (!isMethodName(name)) {
      if (later.has(name))
        throw new LancelotError("unavailable", `${name} is not part of this version of Lancelot.`, {
          data: { what: name, nextStep: "Update Lancelot when a newer version includes it." },
        });
      throw new LancelotError("not_found", `There is no method ${name}.`, { data: { method: name } });
    }
    const method = methods[name];
    if (method.access === "owner" && !call.owner) {
      onRefused("unauthorized", name, call);
      throw new LancelotError("unauthorized", `${name} requires the owner token.`);
    }
    if (hasTooMuchText(name, params)) {
      onRefused("too-large", name, call);
      throw new LancelotError(
        "too_large",
        `${name} accepts texts of at most ${maxTextBytes} bytes. Send a shorter text, or attach it as a file.`,
        {
          data: { maxBytes: maxTextBytes },
        },
      );
    }
    const parsed = method.params.safeParse(params ?? {});
    if (!parsed.success)
      throw new LancelotError("invalid_params", `${name}: ${z.prettifyError(parsed.error)}`, {
        data: { issues: parsed.error.issues.slice(0, 20) },
      });
    try {
      const result = await run(handlers, name, parsed.data, call);
      return method.result.parse(result);
    } catch (error) {
      if (error instanceof LancelotError) {
        if (error.code === "unauthorized" && !call.owner) onRefused("unauthorized", name, call);
        throw error;
      }
      if (call.signal.aborted) throw new LancelotError("cancelled", `${name} was canceled.`, { cause: error });
      onInternal(name, error);
      throw new LancelotError("internal", `${name} failed with an internal error. See the log (Lancelot: Show Log).`, { cause: error });
    }
  }
}

/** An absolute path of any system, with at least two parts, that is no part of an address. */
const absolutePath = /(?<![\p{L}\p{N}_.~:/\\*@-])(?:\/(?!\/)|[A-Za-z]:[\\/]|\\\\)[^\s"'`<>|;,()/\\]+(?:[\\/][^\s"'`<>|;,()/\\]+)+/gu;

/** Removes absolute paths that are neither inside the workspace nor part of what the caller sent: they say where a link leads. */
function withoutForeignPaths(text: string, workspace: string | null, sent: string): string {
  return text.replace(absolutePath, (path) => {
    const bare = trimEnd(path, ".:!?");
    const isInside =
      workspace !== null &&
      !/(?:^|[\\/])\.\.(?:[\\/]|$)/.test(bare) &&
      (bare === workspace || bare.startsWith(`${workspace}/`) || bare.startsWith(`${workspace}\\`));
    return isInside || sent.includes(bare) ? path : `[path outside the workspace]${path.slice(bare.length)}`;
  });
}

/** All texts of a value, one per line. */
function textsOf(value: unknown): string {
  const texts: string[] = [];
  mapTexts(value, (text) => (texts.push(text), text));
  return texts.join("\n");
}

function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => mapTexts(item, change)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, mapTexts(field, change)])) as T;
}

/** Parameters whose own schema limits their size. */
const boundedElsewhere: ReadonlySet<string> = new Set(["attachments"]);

/** True when a text among the params is longer than 1 MB in UTF-8 (requirement X2). */
function hasTooMuchText(name: MethodName, params: unknown): boolean {
  if (name === "tools.invoke") return false;
  let left = 100_000;
  const walk = (value: unknown): boolean => {
    left -= 1;
    if (left < 0) return true;
    // A UTF-16 unit is at most three bytes.
    if (typeof value === "string") return value.length * 3 > maxTextBytes && Buffer.byteLength(value) > maxTextBytes;
    if (typeof value !== "object" || value === null) return false;
    return Object.entries(value).some(([key, field]) => !boundedElsewhere.has(key) && walk(field));
  };
  return walk(params);
}

/** The table guarantees that `params` are those of `name`; the compiler cannot follow that through a union of methods. */
function run(handlers: Handlers, name: MethodName, params: unknown, call: CallContext): unknown {
  const handler = handlers[name] as (params: unknown, call: CallContext) => unknown;
  return handler(params, call);
}

/** Converts any error to a LancelotError, for transports that must send an answer. */
export function asLancelotError(error: unknown): LancelotError {
  return error instanceof LancelotError
    ? error
    : new LancelotError("internal", "The agent host failed with an internal error. See the log (Lancelot: Show Log).", { cause: error });
}
