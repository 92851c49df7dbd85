import { createHash } from "node:crypto";
import { emptyMessage, isRecord, list, pieces, text, usageOf, type SeenMessage, type SentEvent, type Wire } from "./turn.ts";

function sign(call: Record<string, unknown>): string {
  return createHash("sha256")
    .update(`gemini ${text(call["name"])} ${JSON.stringify(call["args"] ?? {})}`)
    .digest("base64");
}

const skipped = "skip_thought_signature_validator";

export const gemini: Wire = {
  tooLong: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",

  read(body, path) {
    const system = isRecord(body["systemInstruction"])
      ? list(body["systemInstruction"]["parts"])
          .map((part) => text(part["text"]))
          .join("\n")
      : "";
    return {
      model: modelOf(path),
      system,
      messages: list(body["contents"]).flatMap(readContent),
      tools: list(body["tools"])
        .flatMap((tool) => list(tool["functionDeclarations"]))
        .map((tool) => ({ name: text(tool["name"]), schema: tool["parametersJsonSchema"] ?? tool["parameters"] })),
    };
  },

  refuse(body, path) {
    const contents = list(body["contents"]);
    if (body["cachedContent"] !== undefined && (body["systemInstruction"] !== undefined || body["tools"] !== undefined))
      return "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.";
    const needsSignature = !/^gemini-[12]\b/.test(modelOf(path));
    for (const [index, content] of contents.entries()) {
      const parts = list(content["parts"]);
      if (parts.length === 0) return "GenerateContentRequest.contents: contents.parts must not be empty.";
      const calls = parts.filter((part) => isRecord(part["functionCall"]));
      if (calls.length === 0) continue;
      const results = list(contents[index + 1]?.["parts"]).filter((part) => isRecord(part["functionResponse"]));
      if (results.length !== calls.length)
        return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
      for (const part of calls) {
        const signature = part["thoughtSignature"];
        const call = isRecord(part["functionCall"]) ? part["functionCall"] : {};
        if (signature === undefined && needsSignature && part === calls[0])
          return `Function call is missing a thought_signature in functionCall parts: ${text(call["name"])}, position ${index}.`;
        if (signature !== undefined && signature !== skipped && signature !== sign(call)) return "Corrupted thought signature.";
      }
    }
    return null;
  },

  events(turn, request) {
    const events: SentEvent[] = [];
    const send = (parts: Record<string, unknown>[], more: Record<string, unknown> = {}): void => {
      events.push({
        data: JSON.stringify({
          candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
          modelVersion: request.model,
          ...(more["finishReason"] === undefined ? {} : { usageMetadata: usage }),
        }),
      });
    };
    const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, toolTokens } = usageOf(turn);
    const usage = {
      promptTokenCount: inputTokens - toolTokens,
      ...(toolTokens === 0 ? {} : { toolUsePromptTokenCount: toolTokens }),
      candidatesTokenCount: outputTokens - reasoningTokens,
      thoughtsTokenCount: reasoningTokens,
      cachedContentTokenCount: cachedInputTokens,
      totalTokenCount: inputTokens + outputTokens,
    };
    for (const piece of pieces(turn.thinking ?? "")) send([{ text: piece, thought: true }]);
    for (const piece of pieces(turn.text ?? "")) send([{ text: piece }]);
    if ((turn.toolCalls ?? []).some((call) => call.rawArgs !== undefined)) {
      send([], { finishReason: "MALFORMED_FUNCTION_CALL" });
      return events;
    }
    const calls = (turn.toolCalls ?? []).map((call) => ({ name: call.name, args: call.args ?? {} }));
    // Only the first of parallel calls carries the signature.
    for (const [index, functionCall] of calls.entries())
      send([{ functionCall, ...(index === 0 ? { thoughtSignature: sign(functionCall) } : {}) }]);
    send([{ text: "" }], { finishReason: turn.stop === "max_tokens" ? "MAX_TOKENS" : turn.stop === "refused" ? "SAFETY" : "STOP" });
    return events;
  },

  errorEvent: () => ({ data: JSON.stringify({ error: { code: 503, status: "UNAVAILABLE", message: "The model is overloaded." } }) }),

  error(status, message) {
    const names: Record<number, string> = {
      400: "INVALID_ARGUMENT",
      401: "UNAUTHENTICATED",
      403: "PERMISSION_DENIED",
      404: "NOT_FOUND",
      429: "RESOURCE_EXHAUSTED",
      503: "UNAVAILABLE",
    };
    return { error: { code: status, message, status: names[status] ?? "INTERNAL" } };
  },
};

function modelOf(path: string): string {
  return /models\/([^:/]+):/.exec(path)?.[1] ?? "";
}

function readContent(content: Record<string, unknown>): SeenMessage[] {
  const spoken = emptyMessage(content["role"] === "model" ? "assistant" : "user");
  const results = emptyMessage("tool");
  for (const part of list(content["parts"])) {
    if (isRecord(part["functionCall"]))
      spoken.toolCalls.push({
        id: text(part["functionCall"]["id"]),
        name: text(part["functionCall"]["name"]),
        args: part["functionCall"]["args"],
      });
    else if (isRecord(part["functionResponse"])) {
      const response = isRecord(part["functionResponse"]["response"]) ? part["functionResponse"]["response"] : {};
      results.toolResults.push({
        id: text(part["functionResponse"]["id"]),
        text: text(response["output"] ?? response["error"]),
        isError: "error" in response,
      });
      for (const inner of list(part["functionResponse"]["parts"]))
        if (isRecord(inner["inlineData"])) results.images.push(text(inner["inlineData"]["data"]));
    } else if (isRecord(part["inlineData"])) spoken.images.push(text(part["inlineData"]["data"]));
    else spoken.text += text(part["text"]);
    if (part["thoughtSignature"] !== undefined) spoken.thinking.push({ thoughtSignature: part["thoughtSignature"] });
  }
  const isSpoken = spoken.text !== "" || spoken.images.length + spoken.toolCalls.length > 0;
  return [...(results.toolResults.length > 0 ? [results] : []), ...(isSpoken ? [spoken] : [])];
}
