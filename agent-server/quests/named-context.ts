import { ContextName } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Tools } from "../tools/tools.ts";

interface Source {
  readonly title: string;
  readonly reads: readonly { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }[];
}

/** The tools that read what a name stands for: one pipeline, with its rules and receipts. */
const sources: Readonly<Record<ContextName, Source>> = {
  problems: { title: "The problems that the user's editor shows", reads: [{ tool: "diagnostics", args: {} }] },
  diff: {
    title: "Uncommitted changes in the user's repository",
    reads: [
      { tool: "git_status", args: {} },
      { tool: "git_diff", args: { staged: true } },
      { tool: "git_diff", args: {} },
    ],
  },
};

/** The names that a text mentions as `@name`. A file of that name comes first. @param files the files that the text mentions */
export function findContexts(text: string, files: readonly string[]): ContextName[] {
  const found = [...text.matchAll(/(?:^|[\s(])@([a-z]+)(?![\w/\\-]|\.\w)/g)].flatMap(([, name]) => ContextName.safeParse(name).data ?? []);
  return [...new Set(found)].filter((name) => !files.includes(name));
}

/**
 * Reads what a name stands for.
 * @throws LancelotError `unavailable` with the reason when a tool cannot read it; `cancelled`
 */
export async function readContext(
  tools: Pick<Tools, "invoke">,
  name: ContextName,
  { quest, parent, signal }: { readonly quest: string | null; readonly parent: string | null; readonly signal: AbortSignal },
): Promise<{ title: string; text: string }> {
  const { title, reads } = sources[name];
  const texts: string[] = [];
  for (const { tool, args } of reads) {
    const outcome = await tools.invoke({ tool, args, quest, parent, actor: "owner", mode: "question", signal });
    if (outcome.isError) throw new LancelotError("unavailable", outcome.text);
    texts.push(outcome.text);
  }
  return { title, text: texts.join("\n\n") };
}
