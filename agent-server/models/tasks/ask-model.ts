import { addUsage, noUsage, type Usage } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { TaskName } from "../local/catalog.ts";
import type { Provider } from "../providers/types.ts";
import { checkJson, readSchema, withCorrection } from "../structured-output.ts";

/** The generative model on this machine, and the tasks it is suitable for. */
export interface TaskModel {
  file: string;
  /** Whether it is in memory: a quick task does not wait for it to load. */
  loaded: boolean;
  /** Tokens. */
  contextWindow: number;
  /** Tasks it does better than the rules. */
  tasks: readonly TaskName[];
}

/** Why the model cannot do a task now; null when it can. */
export function unfitFor(task: TaskName, model: TaskModel | null, needs: { loaded: boolean; tokens: number }): string | null {
  if (model === null) return "No local model is ready.";
  if (!model.tasks.includes(task)) return `${model.file} is not suitable for this task.`;
  if (needs.loaded && !model.loaded) return `${model.file} is not loaded.`;
  if (needs.tokens > model.contextWindow) return `The text is too long for ${model.file}.`;
  return null;
}

/** A question to the local model. */
export interface Question {
  system: string;
  text: string;
  /** JSON Schema of the answer. The grammar enforces its shape; the rest is checked afterward. */
  schema: Record<string, unknown>;
  /** Limit of one answer. The retry of a truncated answer gets twice as much. */
  maxTokens: number;
}

/** `failed` is why no answer matched the schema. */
export type Answer = { failed: null; value: unknown; usage: Usage } | { failed: string; usage: Usage };

/**
 * Asks for JSON that matches a schema, with one retry: it names the problem of the first answer, or allows more tokens.
 * @throws LancelotError of the model's process; `invalid_params` for an invalid schema
 */
export async function askModel(stream: Provider["stream"], question: Question, signal: AbortSignal): Promise<Answer> {
  const schema = readSchema(question.schema);
  let request = {
    system: question.system,
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: question.text }] }],
    tools: [],
    maxTokens: question.maxTokens,
    responseSchema: { name: "answer", schema: question.schema },
  };
  let used = noUsage();
  let failed = "";
  for (let attempt = 1; attempt <= 2; attempt++) {
    const { maxTokens } = request;
    const { text, isCut, usage } = await finish(stream(request, { model: "", maxTokens, temperature: 0, thinking: undefined }, signal));
    used = addUsage(used, usage);
    if (isCut) {
      failed = "Its answer was truncated.";
      request = { ...request, maxTokens: maxTokens * 2 };
      continue;
    }
    const { value, problem } = checkJson(text, schema);
    if (problem === null) return { failed: null, value, usage: used };
    failed = `Its answer does not match the schema: ${problem}`;
    request = withCorrection(request, text, problem);
  }
  return { failed, usage: used };
}

async function finish(events: ReturnType<Provider["stream"]>): Promise<{ text: string; isCut: boolean; usage: Usage }> {
  let text = "";
  for await (const event of events) {
    if (event.type === "text") text += event.text;
    if (event.type === "done") return { text, isCut: event.stop === "max_tokens", usage: event.usage };
  }
  throw new LancelotError("internal", "The local model ended without an answer.");
}
