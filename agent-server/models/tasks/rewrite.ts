import * as z from "zod";
import { askModel } from "./ask-model.ts";
import { keptParts, rewriteByRules } from "./rewrite-rules.ts";
import type { Task } from "./run.ts";
import type { TaskParts } from "./task-parts.ts";

const Rewritten = z.object({ query: z.string().min(1).max(300) });

/** A question as words to search for. What was quoted and the names in it stay, whoever writes. */
export function rewriteTask(parts: TaskParts, query: string): Task<string> {
  return {
    name: "rag_rewrite",
    inputs: { query: query.slice(0, 500) },
    ways: [
      {
        ...parts.modelWay("rag_rewrite", { quick: true, text: query.slice(0, 2_000) }),
        timeoutMs: 10_000,
        async work(signal) {
          const system =
            "Turn a programmer's question into words to search files and notes for: what would stand there, not what was asked. Keep names, paths and quoted words. At most twelve words. Answer as JSON.";
          const answer = await askModel(
            parts.stream,
            { system, text: query.slice(0, 2_000), schema: z.toJSONSchema(Rewritten), maxTokens: 80 },
            signal,
          );
          if (answer.failed !== null) return { value: null, why: answer.failed, usage: answer.usage };
          const { query: rewritten } = Rewritten.parse(answer.value);
          const lost = keptParts(query).find((part) => !rewritten.includes(part));
          if (lost !== undefined) return { value: null, why: `It lost ${lost.slice(0, 60)}.`, usage: answer.usage };
          return { value: rewritten.trim(), usage: answer.usage, outputs: { query: rewritten } };
        },
      },
    ],
    rules: () => {
      const rewritten = rewriteByRules(query);
      return { value: rewritten, outputs: { query: rewritten } };
    },
  };
}
