import { randomUUID } from "node:crypto";
import { noUsage } from "../../contract/chat.ts";
import type { AskEditor, EditorModelMessage, EditorResult } from "../../contract/editor.ts";
import { LancelotError } from "../../contract/errors.ts";
import { type AnswerMeter, createAnswerMeter } from "../answer-limits.ts";
import type { AssistantContent, ModelEvent, ModelMessage, ModelRequest } from "../request.ts";
import type { Provider } from "./types.ts";

type Next = EditorResult<"languageModelNext">;

/** The first model that the editor offers. */
const anyModel = "auto";

/**
 * The language models of the editor's other extensions (`vscode.lm`), which the editor asks consent for. They have no temperature, no visible
 * thinking and no cache control; the editor counts tokens.
 */
export function createEditorModels(displayName: string, ask: AskEditor): Provider {
  const words = (code: "unavailable" | "denied", reason: string, message: string, more: Record<string, unknown> = {}): LancelotError =>
    new LancelotError(code, message, { data: { provider: displayName, reason, retryable: false, ...more } });

  async function offered() {
    const { available, items } = await ask("languageModels", {});
    if (!available)
      throw words("unavailable", "model", "This editor offers no language models to extensions. Choose another provider.", choose);
    // Some extensions list an entry that only chooses among models: it has no window, and cannot answer.
    return items.filter(({ maxInputTokens }) => maxInputTokens > 0);
  }

  async function modelOf(wanted: string) {
    const items = await offered();
    const found = wanted === anyModel ? items[0] : items.find(({ model }) => model === wanted);
    if (found !== undefined) return found;
    const message =
      items.length === 0
        ? "VS Code offers no language model. Install or sign in to an extension that offers one (such as GitHub Copilot), or choose another provider."
        : `VS Code does not offer the language model "${wanted}". Choose another one.`;
    throw words("unavailable", "model", message, choose);
  }

  async function* answer(
    request: ModelRequest,
    wanted: string,
    maxTokens: number,
    signal: AbortSignal,
    meter: AnswerMeter,
  ): AsyncGenerator<ModelEvent> {
    const { model, images } = await modelOf(wanted);
    if (signal.aborted) throw new LancelotError("cancelled", "Stopped.");
    const requestId = randomUUID();
    const stop = (): void => void ask("languageModelStop", { requestId }).catch(() => undefined);
    signal.addEventListener("abort", stop, { once: true });
    let ended = false;
    try {
      await ask("languageModelStart", { requestId, model, maxTokens, tools: [...request.tools], messages: toMessages(request, images) });
      const content: AssistantContent[] = [];
      for (;;) {
        const next: Next = await ask("languageModelNext", { requestId });
        for (const part of next.parts) {
          if (part.type === "tool_call") {
            meter.add("calls", 1);
            meter.add("arguments", JSON.stringify(part.args).length);
            content.push(part);
            continue;
          }
          const last = content.at(-1);
          if (last?.type === "text") last.text += part.text;
          else content.push({ ...part });
          yield part;
        }
        if (next.end === null) continue;
        ended = true;
        if (next.end.kind === "failed") throw failure(next.end, model);
        const { inputTokens, outputTokens } = next.end;
        const stopped = content.some(({ type }) => type === "tool_call") ? ("tool_calls" as const) : ("end" as const);
        yield { type: "done", content, malformed: [], stop: stopped, usage: { ...noUsage(), inputTokens, outputTokens } };
        return;
      }
    } catch (cause) {
      if (signal.aborted) throw new LancelotError("cancelled", "Stopped.", { cause });
      throw cause;
    } finally {
      signal.removeEventListener("abort", stop);
      if (!ended) stop();
    }
  }

  function failure(end: Extract<NonNullable<Next["end"]>, { kind: "failed" }>, model: string): LancelotError {
    switch (end.reason) {
      case "permission":
        return words(
          "denied",
          "refused",
          `VS Code has not granted Lancelot access to ${model}. Allow it when VS Code asks, or choose another provider.`,
          choose,
        );
      case "blocked":
        return words("unavailable", "rate_limited", `${model} (VS Code) is limiting requests: ${end.message}`, choose);
      case "missing":
        return words("unavailable", "model", `VS Code no longer offers ${model}. Choose another one.`, choose);
      case "failed":
        return words("unavailable", "server", `${model} (VS Code) failed: ${end.message}`, { retryable: true });
    }
  }

  return {
    stream: (request, call, signal) => answer(request, call.model, call.maxTokens, signal, call.meter ?? createAnswerMeter()),
    async listModels() {
      const items = await offered();
      return items.map(({ model, name, vendor, maxInputTokens }) => ({
        model,
        displayName: `${name} (${vendor})`,
        contextWindow: maxInputTokens,
      }));
    },
  };
}

const choose = { action: "choose_model" };

function toMessages(request: ModelRequest, images: boolean): EditorModelMessage[] {
  const messages: EditorModelMessage[] = [];
  const add = (role: EditorModelMessage["role"], content: EditorModelMessage["content"]): void => {
    if (content.length === 0) return;
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  };
  const schema = request.responseSchema;
  const asked =
    schema === undefined ? "" : `\n\nAnswer with JSON alone that holds this schema (${schema.name}): ${JSON.stringify(schema.schema)}`;
  if (request.system !== "" || asked !== "") add("user", [{ type: "text", text: `${request.system}${asked}` }]);
  for (const message of request.messages) add(message.role === "assistant" ? "assistant" : "user", toContent(message, images));
  return messages;
}

function toContent(message: ModelMessage, images: boolean): EditorModelMessage["content"] {
  if (message.role === "tool")
    return message.results.map(({ callId, text, isError }) => ({ type: "tool_result", callId, text: isError ? `Failed: ${text}` : text }));
  if (message.role === "user")
    return message.content.map((part) =>
      part.type === "image" && !images ? { type: "text", text: "[An image was attached, which this model cannot see.]" } : part,
    );
  return message.content.flatMap((part): EditorModelMessage["content"] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    return part.type === "tool_call" ? [{ type: "tool_call", id: part.id, name: part.name, args: part.args }] : [];
  });
}
