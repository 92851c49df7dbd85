import * as z from "zod";
import { addUsage } from "../contract/chat.ts";
import type { PlannedStep } from "../contract/plans.ts";
import { LancelotError } from "../contract/errors.ts";
import type { TurnDeps } from "../quests/quests.ts";
import type { Evidence } from "./evidence.ts";
import type { Judge } from "./verify.ts";

const Verdicts = z.object({ results: z.array(z.object({ met: z.boolean(), why: z.string() })) });

const system =
  "You verify the work of another engineer. For each criterion, say whether the evidence shows that it is met. Claims without evidence do not count. Answer in the order of the criteria.";

/** Asks the fast model about criteria that nothing can check. It sees the evidence, and text of files and commands only as data. */
export function createJudge(
  { models, store, ledger, redactor, log }: Pick<TurnDeps, "models" | "store" | "ledger" | "redactor" | "log">,
  of: {
    step: PlannedStep;
    lastAnswer: string;
    evidence: Evidence;
    context: { questId: string; parentId: string; signal: AbortSignal };
  },
): Judge {
  return async (criteria) => {
    const { step, lastAnswer, evidence, context } = of;
    const commands = evidence.commands
      .slice(-10)
      .map(({ text, exitCode, output }) => `$ ${text}\nexit code ${String(exitCode)}\n${output.slice(-2_000)}`);
    const files = [...new Set(evidence.edits.map(({ path }) => path))].filter((path) => path !== "").slice(0, 5);
    const texts = await Promise.all(
      files.map(async (path) => `${path}:\n${((await evidence.readFile(path)) ?? "(deleted)").slice(0, 6_000)}`),
    );
    const data = JSON.stringify({ step: step.title, criteria, changedFiles: texts, commands, answer: lastAnswer.slice(0, 2_000) });
    try {
      const events = models.stream(
        {
          system,
          messages: [{ role: "user", content: [{ type: "text", text: redactor.text(data).text }] }],
          tools: [],
          lane: "fast",
          temperature: 0.1,
          responseSchema: { name: "verdicts", schema: z.toJSONSchema(Verdicts) },
        },
        context,
      );
      let text = "";
      for await (const event of events) {
        if (event.type !== "done") continue;
        await ledger.ready(context.signal);
        store.patch(context.questId, { usage: addUsage(store.quest(context.questId).usage, event.usage) });
        text = event.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      }
      const { results } = Verdicts.parse(JSON.parse(text));
      return results.length === criteria.length ? results : null;
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof LancelotError)) log("a verification was not answered", error);
      return null;
    }
  };
}
