import * as z from "zod";
import type { AssistantContent, ModelMessage, ToolSchema } from "../request.ts";
import { toJson } from "./grammar.ts";
import type { Turn } from "./model-protocol.ts";

/** Starts the product's notes at the end of an answer, which are not repeated to the model. */
export const noteStart = "\n\n[Note: ";

/**
 * The system prompt with the tools, in few tokens: each costs a small machine 10 to 20 ms. The grammar enforces the form of a call; the prompt
 * explains it.
 */
export function systemText(system: string, tools: readonly ToolSchema[], small: boolean): string {
  if (tools.length === 0) return system;
  if (small) {
    const signatures = tools.map((tool) => signature(tool, { optional: false })).join(", ");
    const rule = "To use one, reply only with its call as JSON. When you have seen what you need, answer in plain words.";
    return `${system}\n\nTools: ${signatures}. ${rule}`;
  }
  return [
    system,
    "",
    "To use a tool, end your reply with its call as one line of JSON, such as:",
    toJson({ tool: "read_file", args: { path: "src/main.ts" } }),
    "One call in a reply; its result comes next. When you need no tool, answer in plain words.",
    "Tools:",
    ...tools.map((tool) => `- ${signature(tool, { optional: true })}: ${firstSentence(tool.description)}`),
  ].join("\n");
}

/**
 * An example for small models. Measured on TinyLlama: without it, the model invents the content of a file instead of reading it.
 */
export function exampleTurns(tools: readonly ToolSchema[], small: boolean): Turn[] {
  if (!small || !tools.some((tool) => tool.name === "read_file")) return [];
  return [
    { role: "user", text: "What does notes/todo.md say?" },
    { role: "assistant", text: toJson({ tool: "read_file", args: { path: "notes/todo.md" } }) },
    { role: "tool", results: [{ name: "read_file", text: "Buy milk.", isError: false }] },
    { role: "assistant", text: "It says to buy milk." },
  ];
}

const Parameters = z.object({
  properties: z.record(z.string(), z.object({ type: z.unknown().optional(), enum: z.array(z.unknown()).optional() })).optional(),
  required: z.array(z.string()).optional(),
});

/** `read_file(path, limit?: integer)` */
function signature(tool: ToolSchema, { optional }: { optional: boolean }): string {
  const { properties, required } = Parameters.parse(tool.parameters);
  const args = Object.entries(properties ?? {}).flatMap(([name, { type, enum: values }], index) => {
    const isRequired = required?.includes(name) === true;
    if (!optional && !isRequired && index > 0) return [];
    const kind = values === undefined ? type : values.join("|");
    const label = isRequired ? name : `${name}?`;
    return typeof kind !== "string" || kind === "string" || !optional ? label : `${label}: ${kind}`;
  });
  return `${tool.name}(${args.join(", ")})`;
}

function firstSentence(text: string): string {
  return /^[^\n]*?\.(?=\s|$)/.exec(text)?.[0] ?? text.split("\n")[0] ?? "";
}

/** The conversation as turns of text, with calls in the layout of the grammar. */
export function toTurns(messages: readonly ModelMessage[]): Turn[] {
  return messages.flatMap((message): Turn[] => {
    if (message.role === "tool") {
      return [{ role: "tool", results: message.results.map(({ name, text, isError }) => ({ name, text, isError })) }];
    }
    if (message.role === "user") {
      const text = message.content
        .map((part) => (part.type === "text" ? part.text : "[An image, which this model cannot see.]"))
        .join("\n");
      return [{ role: "user", text }];
    }
    const text = assistantText(message.content);
    return text === "" ? [] : [{ role: "assistant", text }];
  });
}

function assistantText(content: readonly AssistantContent[]): string {
  const lines = content.flatMap((part) => {
    if (part.type === "tool_call") return [toJson({ tool: part.name, args: part.args })];
    if (part.type === "thinking") return [];
    const note = part.text.lastIndexOf(noteStart);
    return [note >= 0 ? part.text.slice(0, note) : part.text];
  });
  return lines.filter((line) => line !== "").join("\n");
}
