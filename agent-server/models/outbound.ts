import type { Redactor } from "../security/security.ts";
import type { ModelMessage, ModelRequest } from "./models.ts";

/**
 * The request as it may leave this machine: secrets in the owner's words, files and tool results replaced (governance.md,
 * Redaction). The model's own words go back as they came: providers check some of them, and it was never shown a secret.
 */
export function redactRequest(request: ModelRequest, redactor: Redactor): ModelRequest {
  const clean = (text: string): string => redactor.text(text).text;
  const messages = request.messages.map((message): ModelMessage => {
    if (message.role === "assistant") return message;
    if (message.role === "tool")
      return { role: "tool", results: message.results.map((result) => ({ ...result, text: clean(result.text) })) };
    return {
      role: "user",
      content: message.content.map((part) => (part.type === "text" ? { type: "text", text: clean(part.text) } : part)),
    };
  });
  return { ...request, system: clean(request.system), messages };
}
