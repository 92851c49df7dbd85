import type { AssistantContent, ModelMessage, ModelRequest } from "../request.ts";

/** Maps every text of a request: system, messages, results, and the model's own text, reasoning and tool arguments. */
export function mapTexts(request: ModelRequest, map: (text: string) => string): ModelRequest {
  return { ...request, system: map(request.system), messages: request.messages.map((message) => mapMessage(message, map)) };
}

/** Every text that `mapTexts` maps. */
export function textsOf(request: ModelRequest): string[] {
  const texts: string[] = [];
  mapTexts(request, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

function mapMessage(message: ModelMessage, map: (text: string) => string): ModelMessage {
  switch (message.role) {
    case "assistant":
      return { role: "assistant", content: message.content.map((part) => mapAnswer(part, map)) };
    case "tool":
      return { role: "tool", results: message.results.map((result) => ({ ...result, text: map(result.text) })) };
    case "user":
      return {
        role: "user",
        content: message.content.map((part) => (part.type === "text" ? { ...part, text: map(part.text) } : part)),
      };
  }
}

/** Signed blocks contain the model's own text, and only placeholders. */
function mapAnswer(part: AssistantContent, map: (text: string) => string): AssistantContent {
  if (part.type === "tool_call") return { ...part, args: mapArguments(part.args, map) };
  return { ...part, text: map(part.text) };
}

/** A tool call with restored values. A signed call also keeps the text the model wrote, to be sent back. */
export function restoreAnswer(part: AssistantContent, restore: (text: string) => string): AssistantContent {
  const restored = mapAnswer(part, restore);
  if (part.type !== "tool_call" || restored.type !== "tool_call" || part.replay === undefined) return restored;
  if (JSON.stringify(restored.args) === JSON.stringify(part.args)) return restored;
  return { ...restored, replay: { ...part.replay, args: part.args } };
}

/** The request with signed calls as the model wrote them, since hiding them again could change them. */
export function asWritten(request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message): ModelMessage => {
    if (message.role !== "assistant") return message;
    const content = message.content.map((part) =>
      part.type === "tool_call" && part.replay?.args !== undefined ? { ...part, args: part.replay.args } : part,
    );
    return { role: "assistant", content };
  });
  return { ...request, messages };
}

function mapArguments(args: Record<string, unknown>, map: (text: string) => string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, mapValue(value, map)]));
}

function mapValue(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapValue(item, map));
  if (typeof value !== "object" || value === null) return value;
  return mapArguments({ ...value }, map);
}
