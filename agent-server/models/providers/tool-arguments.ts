import type { AssistantContent } from "../request.ts";

export interface MalformedCall {
  id: string;
  name: string;
  raw: string;
}

/**
 * A tool call from its streamed arguments. Arguments that are not a JSON object become a call without arguments, so that the answer can be
 * replayed and the call answered, and an entry of `malformed`; such a call must not be run.
 */
export function toolCall(
  call: MalformedCall,
  malformed: MalformedCall[],
  replay?: Extract<AssistantContent, { type: "tool_call" }>["replay"],
): AssistantContent {
  const args = parseObject(call.raw);
  if (args === null) malformed.push(call);
  return { type: "tool_call", id: call.id, name: call.name, args: args ?? {}, ...(replay === undefined ? {} : { replay }) };
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
