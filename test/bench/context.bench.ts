import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type * as TreeSitter from "@vscode/tree-sitter-wasm";
import { fitConversation } from "../../agent-server/context/budget.ts";
import { type ContextMessage, costOf, createDataFence, estimateTokens } from "../../agent-server/context/context.ts";
import { createOutliner } from "../../agent-server/workspace/outline/outline.ts";
import type { BenchRow } from "./bench-row.ts";

const root = join(import.meta.dirname, "../..");

/** A conversation of about 100,000 tokens: calls and what they gave. */
function conversation(): ContextMessage[] {
  const messages: ContextMessage[] = [{ role: "user", content: [{ type: "text", text: "Go through it." }] }];
  const source = readFileSync(join(root, "agent-server/quests/quests.ts"), "utf8");
  for (let index = 0; index < 60; index += 1) {
    const id = `call-${String(index)}`;
    messages.push({
      role: "assistant",
      content: [{ type: "tool_call", id, name: "read_file", args: { path: `src/f${String(index)}.ts` } }],
    });
    const text = `file ${String(index)}\n${source.slice(0, 6_000)}`;
    messages.push({ role: "tool", results: [{ callId: id, name: "read_file", text, isError: false }] });
  }
  return messages;
}

function median(work: () => void, times: number): number {
  const taken = Array.from({ length: times }, () => {
    const from = performance.now();
    work();
    return performance.now() - from;
  }).toSorted((a, b) => a - b);
  return taken[Math.floor(times / 2)] ?? 0;
}

/** Making a prompt fit beside serializing it; an outline beside parsing alone. */
export async function run(): Promise<BenchRow[]> {
  const data = createDataFence("0123456789abcdef");
  const messages = conversation();
  const tokens = messages.reduce((sum, message) => sum + costOf(message), 0);
  const fit = median(() => fitConversation(messages, 1_000_000, data), 15);
  const serialize = median(() => JSON.stringify(messages), 15);

  const path = "agent-server/quests/quests.ts";
  const text = readFileSync(join(root, path), "utf8").repeat(4);
  const outliner = createOutliner({ distDir: null, askEditor: null });
  await outliner.outline(path, text);
  const outlined: number[] = [];
  for (let index = 0; index < 9; index += 1) {
    const from = performance.now();
    await outliner.outline(path, text);
    outlined.push(performance.now() - from);
  }
  const outline = outlined.toSorted((a, b) => a - b)[4] ?? 0;
  const require = createRequire(import.meta.url);
  const { Parser, Language } = require("@vscode/tree-sitter-wasm") as typeof TreeSitter;
  const grammar = join(dirname(require.resolve("@vscode/tree-sitter-wasm")), "tree-sitter-typescript.wasm");
  const parser = new Parser().setLanguage(await Language.load(readFileSync(grammar)));
  const parse = median(() => parser.parse(text)?.delete(), 9);
  return [
    {
      name: "a prompt made to fit",
      note: `${String(tokens)} tokens; bare: JSON.stringify`,
      ours: fit,
      bare: serialize,
      unit: "ms",
      ratio: fit / serialize,
    },
    {
      name: "an outline",
      note: `${String(Math.round(text.length / 1000))} KB of TypeScript; bare: parsing`,
      ours: outline,
      bare: parse,
      unit: "ms",
      ratio: outline / parse,
    },
    {
      name: "tokens of a text counted again",
      note: "bare: counted the first time",
      ...(() => {
        const texts = Array.from({ length: 60 }, (_, index) => `${String(index)} ${text.slice(0, 20_000)}`);
        const once = (): number => {
          const from = performance.now();
          for (const one of texts) estimateTokens(one);
          return performance.now() - from;
        };
        const first = once();
        const again = once();
        return { ours: again, bare: first, ratio: again / first };
      })(),
      unit: "ms",
    },
  ];
}
