import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { readSchema } from "../structured-output.ts";
import { askModel } from "./ask-model.ts";
import { extractByRules } from "./extract-rules.ts";
import type { Task } from "./task-runner.ts";
import type { TaskServices } from "./task-services.ts";

/** Extracts the data of a schema from a text: by a model whose grammar enforces the schema, otherwise by rules. */
export function extractTask(parts: TaskServices, text: string, schema: Record<string, unknown>): Task<{ found: unknown }> {
  const checked = readSchema(schema);
  const fields = Object.keys(
    z.object({ properties: z.record(z.string(), z.unknown()).catch({}) }).parse({ properties: schema["properties"] }).properties,
  );
  return {
    name: "extract_json",
    inputs: { fields: fields.slice(0, 50), characters: text.length, text: text.slice(0, 500) },
    methods: [
      {
        ...parts.modelMethod("extract_json", { quick: false, text: text + JSON.stringify(schema) }),
        timeoutMs: 60_000,
        async work(signal) {
          const system = "Extract the requested data from the text. Copy it exactly. Answer with JSON only.";
          const maxTokens = Math.min(1_000, 100 + 40 * fields.length);
          const answer = await askModel(
            parts.stream,
            { system, text: `Text:\n${text}\n\nFields: ${fields.join(", ")}`, schema, maxTokens },
            signal,
          );
          if (answer.failed !== null) return { value: null, why: answer.failed, usage: answer.usage };
          return { value: { found: answer.value }, usage: answer.usage, outputs: { json: JSON.stringify(answer.value).slice(0, 1_000) } };
        },
      },
    ],
    rules: () => {
      const found = extractByRules(text, schema, checked);
      if (found === undefined)
        throw new LancelotError("unavailable", "The requested data was not found in the text by rules, and no local model is available.");
      return { value: { found }, outputs: { json: JSON.stringify(found).slice(0, 1_000) } };
    },
  };
}
