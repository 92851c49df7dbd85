import type { ModelEvent, ModelRequest } from "../request.ts";
import { withoutFillers } from "./tool-schema.ts";

type ResponseSchema = NonNullable<ModelRequest["responseSchema"]>;
type Done = Extract<ModelEvent, { type: "done" }>;

/** What a model is told that has no other way to be given a schema. */
export function inWords({ schema }: ResponseSchema): string {
  return `Answer with one JSON value that holds the following JSON Schema, and with nothing else: no words around it, no code fence.\n${JSON.stringify(schema)}`;
}

/** The name of a schema as every provider takes it. */
export function schemaName({ name }: ResponseSchema): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "answer";
}

/**
 * Passes an answer on. Of one that had to hold a schema, `done` carries the JSON alone as its only text, without what stands around
 * it and without fillers for optional properties; whether it holds the schema is for the room to check. Where the answer came as a
 * call of the tool `asTool` (how a model without structured output is asked), its arguments are the answer.
 */
export async function* bareAnswer(
  events: AsyncIterable<ModelEvent>,
  request: ModelRequest,
  asTool: string | null = null,
): AsyncGenerator<ModelEvent> {
  for await (const event of events) yield event.type === "done" ? toBare(event, request, asTool) : event;
}

function toBare(given: Done, { responseSchema }: ModelRequest, asTool: string | null): Done {
  if (responseSchema === undefined) return given;
  const done = asTool === null ? given : fromTool(given, asTool);
  // Calls of other tools come before the answer; a refusal or a cut answer is told as what it is.
  if (done.stop !== "end") return done;
  const text = done.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const value = parseAnswer(text);
  if (value === undefined) return done;
  const others = done.content.filter((part) => part.type !== "text");
  return { ...done, content: [...others, { type: "text", text: JSON.stringify(withoutFillers(value, responseSchema.schema)) }] };
}

function fromTool(done: Done, name: string): Done {
  const call = done.content.find((part) => part.type === "tool_call" && part.name === name);
  if (call?.type !== "tool_call" || done.malformed.some(({ id }) => id === call.id)) return done;
  const others = done.content.filter((part) => part !== call && part.type === "thinking");
  return { ...done, stop: "end", content: [...others, { type: "text", text: JSON.stringify(call.args) }] };
}

/** The JSON of an answer, though a model put a fence or words around it; undefined where there is none. */
export function parseAnswer(text: string): unknown {
  const trimmed = text.trim();
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/i.exec(trimmed)?.[1];
  const [first, last] = [trimmed.search(/[[{]/), Math.max(trimmed.lastIndexOf("}"), trimmed.lastIndexOf("]"))];
  for (const candidate of [trimmed, fenced, first === -1 ? undefined : trimmed.slice(first, last + 1)]) {
    if (candidate === undefined) continue;
    try {
      return JSON.parse(candidate) as unknown;
    } catch {
      // The next candidate.
    }
  }
  return undefined;
}
