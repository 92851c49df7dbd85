import { randomUUID } from "node:crypto";
import type { AssistantContent } from "../request.ts";
import { InvalidItemError } from "./stream-errors.ts";

export interface MalformedCall {
  id: string;
  name: string;
  raw: string;
}

/** No provider accepts a longer name in a conversation. */
const maxName = 200;

export function newCallId(): string {
  return `call_${randomUUID().replaceAll("-", "")}`;
}

/**
 * Makes the tool calls of one answer from their streamed arguments. Arguments that are not a JSON object become a call without arguments, so
 * that the answer can be replayed and the call answered, and an entry of `malformed`; such a call must not be run. Ids are unique in an
 * answer, so that a malformed call is not mistaken for another.
 */
export function createToolCalls() {
  const malformed: MalformedCall[] = [];
  const ids = new Set<string>();
  return {
    malformed,
    /** @throws InvalidItemError for a call without a name, which nothing could answer */
    toContent(
      call: { id: string | null | undefined; name: string | null | undefined; raw: string },
      replay?: Extract<AssistantContent, { type: "tool_call" }>["replay"],
    ): AssistantContent {
      const { id: given, name, raw } = call;
      if (name === null || name === undefined || name === "") throw new InvalidItemError("a tool call without a name");
      if (name.length > maxName) throw new InvalidItemError(`a tool call with a name of ${name.length} characters`);
      const wanted = given === null || given === undefined || given === "" ? newCallId() : given;
      let id = wanted;
      for (let copy = 2; ids.has(id); copy++) id = `${wanted}-${copy}`;
      ids.add(id);
      const args = parseObject(raw);
      if (args === null) malformed.push({ id, name, raw });
      return { type: "tool_call", id, name, args: args ?? {}, ...(replay === undefined ? {} : { replay }) };
    },
  };
}

function parseObject(raw: string): Record<string, unknown> | null {
  if (raw.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
