import * as vscode from "vscode";
import type { EditorModelMessage, EditorParams, EditorResult } from "../../agent-server/contract/editor.ts";

type Next = EditorResult<"languageModelNext">;

interface Answer {
  readonly stop: vscode.CancellationTokenSource;
  parts: Next["parts"];
  end: Next["end"];
  /** Resolves the host's pending request for more parts. */
  wake: () => void;
  forget: NodeJS.Timeout;
}

/** How long (ms) an answer is kept without a request for its next part. */
const forgottenAfter = 10 * 60_000;

/** Newer VS Code versions accept images; the API types of this build do not include them. */
const DataPart = (vscode as unknown as { LanguageModelDataPart?: { image(data: Uint8Array, mime: string): vscode.LanguageModelTextPart } })
  .LanguageModelDataPart;

/** Gives the host the models of other extensions. VS Code asks the user for consent at the first request. */
export function createLanguageModels() {
  const answers = new Map<string, Answer>();

  async function begin(params: EditorParams<"languageModelStart">, answer: Answer): Promise<void> {
    const { token } = answer.stop;
    const [vendor = "", ...rest] = params.model.split("/");
    const [model] = await vscode.lm.selectChatModels({ vendor, id: rest.join("/") });
    if (model === undefined) throw vscode.LanguageModelError.NotFound();
    const messages = params.messages.map(toMessage);
    const response = await model.sendRequest(
      messages,
      {
        justification: vscode.l10n.t("Lancelot uses this model for your tasks."),
        tools: params.tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })),
        modelOptions: { max_tokens: params.maxTokens },
      },
      token,
    );
    let written = "";
    for await (const part of response.stream) {
      if (part instanceof vscode.LanguageModelTextPart) {
        written += part.value;
        push(answer, { type: "text", text: part.value });
      } else if (part instanceof vscode.LanguageModelToolCallPart) {
        written += part.name + JSON.stringify(part.input);
        push(answer, { type: "tool_call", id: part.callId, name: part.name, args: part.input as Record<string, unknown> });
      }
    }
    if (token.isCancellationRequested) return;
    const counts = await Promise.all(messages.map((message) => model.countTokens(message)));
    const outputTokens = written === "" ? 0 : await model.countTokens(written);
    finish(answer, { kind: "end", inputTokens: counts.reduce((sum, count) => sum + count, 0), outputTokens });
  }

  return {
    async list(): Promise<EditorResult<"languageModels">> {
      if (!("lm" in vscode)) return { available: false, items: [] };
      const models = await vscode.lm.selectChatModels();
      const items = models.map(({ vendor, id, name, family, maxInputTokens }) => ({
        model: `${vendor}/${id}`,
        name,
        vendor,
        family,
        maxInputTokens,
        images: DataPart !== undefined,
      }));
      return { available: true, items };
    },
    start(params: EditorParams<"languageModelStart">): EditorResult<"languageModelStart"> {
      const forget = setTimeout(() => drop(params.requestId), forgottenAfter);
      const answer: Answer = { stop: new vscode.CancellationTokenSource(), parts: [], end: null, wake: () => undefined, forget };
      answers.set(params.requestId, answer);
      begin(params, answer).catch((error: unknown) => finish(answer, failureOf(error)));
      return {};
    },
    async next({ requestId }: EditorParams<"languageModelNext">): Promise<Next> {
      const answer = answers.get(requestId);
      if (answer === undefined)
        return { parts: [], end: { kind: "failed", reason: "failed", message: vscode.l10n.t("the request was canceled") } };
      answer.forget.refresh();
      if (answer.parts.length === 0 && answer.end === null) await new Promise<void>((resolve) => (answer.wake = resolve));
      const { parts, end } = answer;
      answer.parts = [];
      if (end !== null) answers.delete(requestId);
      return { parts, end };
    },
    stop({ requestId }: EditorParams<"languageModelStop">): EditorResult<"languageModelStop"> {
      drop(requestId);
      return {};
    },
  };

  function drop(requestId: string): void {
    const answer = answers.get(requestId);
    if (answer === undefined) return;
    answers.delete(requestId);
    answer.stop.cancel();
    finish(answer, { kind: "failed", reason: "failed", message: vscode.l10n.t("the request was canceled") });
  }
}

function push(answer: Answer, part: Next["parts"][number]): void {
  const last = answer.parts.at(-1);
  // Text that arrives while the host is busy is sent as one part.
  if (part.type === "text" && last?.type === "text") last.text += part.text;
  else answer.parts.push(part);
  answer.wake();
}

function finish(answer: Answer, end: NonNullable<Next["end"]>): void {
  answer.end ??= end;
  answer.wake();
  clearTimeout(answer.forget);
  answer.stop.dispose();
}

function failureOf(error: unknown): NonNullable<Next["end"]> {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof vscode.LanguageModelError ? error.code : "";
  const reasons = { NoPermissions: "permission", Blocked: "blocked", NotFound: "missing" } as const;
  return { kind: "failed", reason: code in reasons ? reasons[code as keyof typeof reasons] : "failed", message };
}

function toMessage({ role, content }: EditorModelMessage): vscode.LanguageModelChatMessage {
  if (role === "assistant")
    return vscode.LanguageModelChatMessage.Assistant(
      content.flatMap((part): (vscode.LanguageModelTextPart | vscode.LanguageModelToolCallPart)[] => {
        if (part.type === "text") return [new vscode.LanguageModelTextPart(part.text)];
        return part.type === "tool_call" ? [new vscode.LanguageModelToolCallPart(part.id, part.name, part.args)] : [];
      }),
    );
  return vscode.LanguageModelChatMessage.User(
    content.flatMap((part): (vscode.LanguageModelTextPart | vscode.LanguageModelToolResultPart)[] => {
      if (part.type === "text") return [new vscode.LanguageModelTextPart(part.text)];
      if (part.type === "tool_result")
        return [new vscode.LanguageModelToolResultPart(part.callId, [new vscode.LanguageModelTextPart(part.text)])];
      return part.type === "image" && DataPart !== undefined ? [DataPart.image(Buffer.from(part.data, "base64"), part.mediaType)] : [];
    }),
  );
}
