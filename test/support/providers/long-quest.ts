import { addUsage, noUsage, type Usage } from "../../../agent-server/contract/chat.ts";
import type { ModelMessage, ToolSchema } from "../../../agent-server/models/request.ts";
import type { ServerMemory } from "../../../agent-server/models/providers/types.ts";
import { createAccounts, type Accounts } from "../model-server/accounts.ts";
import { collect, run, type Subject } from "./subjects.ts";

/** A system prompt and tools of the size the product has: about 9,000 tokens. */
export const system = "You are an engineer whom the owner trusts. Read before you write. ".repeat(370);
export const tools: ToolSchema[] = Array.from({ length: 30 }, (_, index) => ({
  name: `tool_${index}`,
  description: `Does something to a file of the workspace, carefully, and says what it did. ${"It has rules. ".repeat(20)}`,
  parameters: { type: "object", properties: { path: { type: "string" }, text: { type: "string" } }, required: ["path"] },
}));

export interface PlayedQuest {
  usage: Usage;
  /** Of each call. */
  calls: Usage[];
  accounts: Accounts;
}

/**
 * A quest of so many calls against a server that accounts caches as documented: a question, then reads of files of some 600 tokens and
 * what the model says to them, the conversation growing by what was really answered.
 */
export async function playQuest(
  subject: Subject,
  options: { calls: number; cacheKey?: string; accounts?: Accounts; memory?: ServerMemory; between?: () => Promise<void> },
): Promise<PlayedQuest> {
  const accounts = options.accounts ?? createAccounts();
  let step = 0;
  const { provider, server } = await run(
    subject,
    {
      accounts,
      script: () => ({
        text: `Step ${++step}: ${"as I see it, ".repeat(12)}`,
        toolCalls: [{ name: "tool_1", args: { path: `src/file-${step}.ts` } }],
      }),
    },
    options.memory === undefined ? {} : { memory: options.memory },
  );
  const messages: ModelMessage[] = [{ role: "user", content: [{ type: "text", text: "Find out why the test fails and mend it." }] }];
  const calls: Usage[] = [];
  const key = options.cacheKey === undefined ? {} : { cacheKey: options.cacheKey };
  try {
    for (let index = 0; index < options.calls; index++) {
      const answer = await collect(provider, { system, tools, messages, ...key }, { model: subject.model });
      calls.push(answer.done.usage);
      const results = answer.calls.map(({ id, name }) => ({
        callId: id,
        name,
        text: `// file ${index}\n${`export const value${index} = compute(${index}); // as before\n`.repeat(45)}`,
        isError: false,
      }));
      messages.push({ role: "assistant", content: answer.done.content }, { role: "tool", results });
      await options.between?.();
    }
  } finally {
    await server.close();
  }
  return { usage: calls.reduce(addUsage, noUsage()), calls, accounts };
}
