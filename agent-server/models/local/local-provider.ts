import { noUsage } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { AssistantContent, ModelEvent } from "../request.ts";
import type { Provider } from "../providers/types.ts";
import { replyGrammar, schemaGrammar } from "./grammar.ts";
import type { Done } from "./model-protocol.ts";
import type { ModelProcess } from "./model-process.ts";
import { exampleTurns, noteStart, systemText, toTurns } from "./prompt.ts";
import { createReplyReader } from "./reply.ts";

export interface LocalModelCard {
  file: string;
  name: string;
  contextWindow: number;
  small: boolean;
}

/**
 * The local model as a provider: one tool call per reply, no images and no thinking. The grammar enforces the schema of a structured answer,
 * which then calls no tools; `stop` tells a truncated one.
 */
export function createLocalProvider(deps: {
  process: ModelProcess;
  /** The installed model. @throws LancelotError `unavailable` with the next step */
  card: () => Promise<LocalModelCard>;
  newCallId: () => string;
}): Provider {
  return {
    async *stream(request, call, signal): AsyncGenerator<ModelEvent, void> {
      if (signal.aborted) throw new LancelotError("cancelled", "Stopped.");
      const { small } = await deps.card();
      const { tools, responseSchema } = request;
      const reader = tools.length > 0 && responseSchema === undefined ? createReplyReader() : null;
      const content: AssistantContent[] = [];
      let text = "";
      let done: Done | undefined;
      const events = deps.process.generate(
        {
          system: systemText(request.system, tools, small),
          example: exampleTurns(tools, small),
          turns: toTurns(request.messages),
          grammar: responseSchema !== undefined ? schemaGrammar(responseSchema.schema) : tools.length > 0 ? replyGrammar(tools) : null,
          mayRepeat: responseSchema !== undefined,
          maxTokens: request.maxTokens ?? call.maxTokens,
          temperature: call.temperature ?? 0,
        },
        signal,
      );
      for await (const event of events) {
        if (event.type === "done") {
          done = event;
          break;
        }
        const fresh = reader === null ? event.text : reader.push(event.text);
        if (fresh === "") continue;
        text += fresh;
        yield { type: "text", text: fresh };
      }
      if (done === undefined)
        throw new LancelotError("internal", "The local model ended without an answer.", { data: { retryable: true } });

      const rest = reader?.end() ?? { text: "", call: { kind: "none" as const } };
      const isAnswer = rest.call.kind === "none" && responseSchema === undefined;
      const ending = rest.text + (isAnswer ? noteOf(done, text + rest.text) : "");
      if (ending !== "") yield { type: "text", text: ending };
      text += ending;
      if (text !== "") content.push({ type: "text", text });
      const malformed: { id: string; name: string; raw: string }[] = [];
      if (rest.call.kind === "call") content.push({ type: "tool_call", id: deps.newCallId(), name: rest.call.name, args: rest.call.args });
      if (rest.call.kind === "malformed") malformed.push({ id: deps.newCallId(), name: rest.call.name, raw: rest.call.raw });
      yield {
        type: "done",
        content,
        malformed,
        stop: rest.call.kind === "call" ? "tool_calls" : done.stop === "max_tokens" ? "max_tokens" : "end",
        usage: { ...noUsage(), inputTokens: done.inputTokens, outputTokens: done.outputTokens, cachedInputTokens: done.cachedTokens },
      };
    },
    async listModels() {
      const { file, name, contextWindow } = await deps.card();
      return [{ model: file, displayName: name, contextWindow }];
    },
  };
}

/** Notes for the user about how the answer came about. */
function noteOf({ stop, leftOut }: Done, text: string): string {
  const notes: string[] = [];
  if (text.trim() === "") notes.push("the model gave no answer");
  if (stop === "circles") notes.push("the model began to repeat itself and was stopped");
  if (leftOut.toolOutputs > 0)
    notes.push(`${leftOut.toolOutputs} tool ${leftOut.toolOutputs === 1 ? "output was" : "outputs were"} shortened`);
  if (leftOut.turns > 0) notes.push(`${leftOut.turns} earlier ${leftOut.turns === 1 ? "message was" : "messages were"} left out`);
  if (leftOut.toolOutputs + leftOut.turns > 0) notes.push("to fit what this local model can take at once");
  return notes.length === 0 ? "" : `${noteStart}${notes.join(", ")}.]`;
}
