import type { ModelEvent, ModelRequest } from "../request.ts";
import { withoutFillers } from "./tool-schema.ts";

type ResponseSchema = NonNullable<ModelRequest["responseSchema"]>;
type Done = Extract<ModelEvent, { type: "done" }>;

/** Describes a schema in the prompt, for models without another way. */
export function formatDuration({ schema }: ResponseSchema): string {
  return `Answer with one JSON value that holds the following JSON Schema, and with nothing else: no words around it, no code fence.\n${JSON.stringify(schema)}`;
}

/** The name of a schema in the form that every provider accepts. */
export function schemaName({ name }: ResponseSchema): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "answer";
}

/**
 * Passes an answer through. For a structured answer, `done` contains the JSON as its only text, without surrounding text and without fillers for
 * optional properties; structured-output.ts checks it against the schema. Where the model answered by calling the tool `asTool` (without
 * native structured output), its arguments are the answer.
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
  // Calls of other tools have priority over the answer; a refusal or a truncated answer is passed unchanged.
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

/** The JSON of an answer, even within a fence or other text; undefined without any. */
export function parseAnswer(text: string): unknown {
  const trimmed = text.trim();
  const fenced = /```(?:json)?[^\S\n]*\n([\s\S]*?)\n[^\S\n]*```/i.exec(trimmed)?.[1];
  const [first, last] = [trimmed.search(/[[{]/), Math.max(trimmed.lastIndexOf("}"), trimmed.lastIndexOf("]"))];
  for (const candidate of [trimmed, fenced, first === -1 ? undefined : trimmed.slice(first, last + 1)]) {
    if (candidate === undefined) continue;
    try {
      return JSON.parse(candidate) as unknown;
    } catch {
      // Try the next candidate.
    }
  }
  return undefined;
}
