import type { AssistantContent, ModelMessage, ModelRequest } from "../request.ts";

/** The request with every text of it replaced: system, words, results, and what the model itself said, thought and asked of tools. */
export function mapTexts(request: ModelRequest, map: (text: string) => string): ModelRequest {
  return { ...request, system: map(request.system), messages: request.messages.map((message) => mapMessage(message, map)) };
}

/** Every text that `mapTexts` reaches. */
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

/** Blocks that a provider checks when they come back are its own words, and hold none but placeholders. */
function mapAnswer(part: AssistantContent, map: (text: string) => string): AssistantContent {
  if (part.type === "tool_call") return { ...part, args: mapArguments(part.args, map) };
  return { ...part, text: map(part.text) };
}

/** A call as the model may run it. What a provider signed is kept as the model wrote it, to be sent back so. */
export function restoreAnswer(part: AssistantContent, restore: (text: string) => string): AssistantContent {
  const restored = mapAnswer(part, restore);
  if (part.type !== "tool_call" || restored.type !== "tool_call" || part.replay === undefined) return restored;
  if (JSON.stringify(restored.args) === JSON.stringify(part.args)) return restored;
  return { ...restored, replay: { ...part.replay, args: part.args } };
}

/** The request with signed calls as the model wrote them: hidden anew they could differ by a letter. */
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
