import * as z from "zod";
import { askModel } from "./ask-model.ts";
import { estimateTokens } from "./estimate.ts";
import type { Task } from "./task-runner.ts";
import { summarizeByRules } from "./summary-rules.ts";
import type { TaskServices } from "./task-services.ts";

const Summary = z.object({ summary: z.string().min(1) });

/** A summary of at most `maxTokens` tokens: a model's, if it names nothing that the text does not, otherwise sentences of the text. */
export function summarizeTask(parts: TaskServices, text: string, maxTokens: number): Task<string> {
  const fits = estimateTokens(text) <= maxTokens;
  const method = parts.modelMethod("summarize", { quick: false, text });
  return {
    name: "summarize",
    inputs: { characters: text.length, maxTokens, text: text.slice(0, 300) },
    methods: [
      {
        ...method,
        unfit: fits ? "The text is already short enough." : method.unfit,
        timeoutMs: 120_000,
        async work(signal) {
          const system =
            "Summarize the text for a programmer who will go on with the work. Keep file names, numbers, names and decisions exactly as they stand. Add nothing. Answer as JSON.";
          const words = Math.max(20, Math.floor(maxTokens * 0.6));
          const answer = await askModel(
            parts.stream,
            {
              system,
              text: `${text}\n\nSummarize this in at most ${words} words.`,
              schema: z.toJSONSchema(Summary),
              maxTokens: maxTokens + 20,
            },
            signal,
          );
          if (answer.failed !== null) return { value: null, why: answer.failed, usage: answer.usage };
          const { summary } = Summary.parse(answer.value);
          const wrong = problemOf(text, summary, maxTokens);
          if (wrong !== null) return { value: null, why: wrong, usage: answer.usage };
          return { value: summary.trim(), usage: answer.usage, outputs: { characters: summary.length, summary: summary.slice(0, 500) } };
        },
      },
    ],
    rules: () => {
      const summary = summarizeByRules(text, maxTokens);
      return { value: summary, outputs: { characters: summary.length, summary: summary.slice(0, 500) } };
    },
  };
}

/** What a summary contains that its text does not, as far as it can be checked: file and code names, and numbers. Null for a valid one. */
export function problemOf(text: string, summary: string, maxTokens: number): string | null {
  if (summary.trim().length < Math.min(40, text.length / 4)) return "Its summary is too short.";
  if (estimateTokens(summary) > maxTokens * 1.2) return "Its summary is too long.";
  const named =
    summary.match(
      /(?<![\w@./-])[\w@./-]*[\w-]\.[A-Za-z]{1,5}\b|\b(?=\w+_\w)\w+\b|\b[a-z]+[A-Z]\w*|(?<![\w.])\d[\d.,]*\d\b|(?<![\w.])\d{2,}\b/g,
    ) ?? [];
  const invented = named.find((one) => !text.includes(one));
  return invented === undefined ? null : `Its summary contains something that the text does not (${invented.slice(0, 60)}).`;
}
