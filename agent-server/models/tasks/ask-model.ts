import * as z from "zod";
import { addUsage, noUsage, type Usage } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { TaskName } from "../local/catalog.ts";
import type { Provider } from "../providers/provider.ts";
import type { ModelMessage } from "../request.ts";

/** The writing model that is on this machine, and what it is good for. */
export interface TaskModel {
  file: string;
  /** In memory now: a quick task does not wait for it to be loaded. */
  loaded: boolean;
  /** Tokens. */
  contextWindow: number;
  /** What it does better than the rules. */
  tasks: readonly TaskName[];
}

/** Why the model does not do a task now; null when it does. */
export function unfitFor(task: TaskName, model: TaskModel | null, needs: { loaded: boolean; tokens: number }): string | null {
  if (model === null) return "No local model is ready.";
  if (!model.tasks.includes(task)) return `${model.file} does it no better than the rules.`;
  if (needs.loaded && !model.loaded) return `${model.file} is not loaded, and this is not worth the wait.`;
  if (needs.tokens > model.contextWindow) return `The text is too long for ${model.file}.`;
  return null;
}

/** A question to the local model. */
export interface Question {
  system: string;
  text: string;
  /** JSON Schema of the answer. The grammar holds its shape; what it cannot hold is checked afterwards. */
  schema: Record<string, unknown>;
  /** Of one answer. A second try, after one that was cut off, may take twice as much. */
  maxTokens: number;
}

/** `failed`: no answer held the schema, and why. */
export type Answer = { failed: null; value: unknown; usage: Usage } | { failed: string; usage: Usage };

/**
 * An answer in JSON that holds its schema, in two tries at most: the second is told what was wrong with the first, or has more room.
 * @throws LancelotError of the model's process, `invalid_params` for a schema that is none.
 */
export async function askModel(stream: Provider["stream"], question: Question, signal: AbortSignal): Promise<Answer> {
  const schema = readSchema(question.schema);
  const messages: ModelMessage[] = [{ role: "user", content: [{ type: "text", text: question.text }] }];
  let used = noUsage();
  let { maxTokens } = question;
  let why = "";
  for (let tries = 0; tries < 2; tries++) {
    const request = {
      system: question.system,
      messages,
      tools: [],
      maxTokens,
      responseSchema: { name: "answer", schema: question.schema },
    };
    const { text, isCut, usage } = await finish(stream(request, { model: "", maxTokens, temperature: 0, thinking: undefined }, signal));
    used = addUsage(used, usage);
    if (isCut) {
      why = "Its answer was cut off.";
      maxTokens *= 2;
      continue;
    }
    const checked = check(text, schema);
    if (checked.problem === null) return { failed: null, value: checked.value, usage: used };
    why = `Its answer does not hold the schema: ${checked.problem}`;
    messages.push(
      { role: "assistant", content: [{ type: "text", text }] },
      { role: "user", content: [{ type: "text", text: `That is not right: ${checked.problem} Answer again.` }] },
    );
  }
  return { failed: why, usage: used };
}

/** @throws LancelotError `invalid_params` */
export function readSchema(schema: Record<string, unknown>): z.ZodType {
  try {
    return z.fromJSONSchema(schema);
  } catch (cause) {
    throw new LancelotError("invalid_params", "The JSON Schema cannot be read.", { cause });
  }
}

function check(text: string, schema: z.ZodType): { value: unknown; problem: string | null } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { value: null, problem: "it is not JSON." };
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? { value: parsed.data, problem: null } : { value: null, problem: z.prettifyError(parsed.error).slice(0, 300) };
}

async function finish(events: ReturnType<Provider["stream"]>): Promise<{ text: string; isCut: boolean; usage: Usage }> {
  let text = "";
  for await (const event of events) {
    if (event.type === "text") text += event.text;
    if (event.type === "done") return { text, isCut: event.stop === "max_tokens", usage: event.usage };
  }
  throw new LancelotError("internal", "The local model ended without an answer.");
}
