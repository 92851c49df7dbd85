import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SeenRequest, Turn } from "../model-server/turn.ts";

/** What the played model does with the sample project: reads two files, proposes five hunks in them, then sums up. */
export const task = "The duration test fails. Find out why, fix it, and tidy the comments of the cart.";

/** Texts of the turns, to look for in the chat. */
export const said = {
  first: "I read both files first.",
  thinking: "Minutes count the whole time, hours included.",
  proposed: "The minutes were taken from the whole time, not from what the hours leave. I proposed the fix and clearer comments.",
  after: "Thank you: I keep to what you accepted.",
} as const;

/** The five edits, in the order of their hunks: three in duration.js, two in cart.js. */
export const edits = [
  {
    path: "src/duration.js",
    old_text: ' * Seconds as words: 3900 → "1 h 5 min".',
    new_text: ' * Seconds as words, largest unit first: 3900 → "1 h 5 min".',
  },
  {
    path: "src/duration.js",
    old_text: "const minutes = Math.floor(seconds / 60);",
    new_text: "const minutes = Math.floor((seconds % 3600) / 60);",
  },
  { path: "src/duration.js", old_text: '  return parts.join(" ");', new_text: '  return parts.join(", ");' },
  {
    path: "src/cart.js",
    old_text: "/** Part of the price that the discount takes off. */",
    new_text: "/** Share of the price that the discount takes off: 0.1 is 10 %. */",
  },
  { path: "src/cart.js", old_text: "  return sum >= discountFrom", new_text: "  return sum > discountFrom" },
] as const;

/** The script for the model server. Which turn it is follows from the conversation, so that a resumed quest goes on where it was. */
export function twoFileScript(): (request: SeenRequest) => Turn {
  return ({ messages }) => {
    const calls = new Set(messages.flatMap((message) => message.toolCalls.map((call) => call.name)));
    const reviewed = messages.some((message) => message.role === "assistant" && message.text.includes(said.proposed));
    if (!calls.has("read_file"))
      return {
        thinking: said.thinking,
        text: said.first,
        toolCalls: [
          { name: "read_file", args: { path: "src/duration.js" } },
          { name: "read_file", args: { path: "src/cart.js" } },
        ],
      };
    if (!calls.has("edit_file")) return { toolCalls: edits.map((args) => ({ name: "edit_file", args })) };
    return { text: reviewed ? said.after : said.proposed };
  };
}

/** Makes a played server the active model of a data folder, as an owner would in config/models.yaml. */
export function useModelServer(dataDir: string, baseUrl: string, kind = "openai_compatible"): void {
  mkdirSync(join(dataDir, "config"), { recursive: true });
  writeFileSync(
    join(dataDir, "config/models.yaml"),
    `version: "1.0"
active: work
providers:
  work:
    kind: ${kind}
    display_name: "Our cluster"
    mode: sdk
    base_url: "${baseUrl}"
    fast: { model: test-model, max_tokens: 4096, temperature: 0.3 }
    deep: { model: test-model, max_tokens: 4096 }
    cache: { model: test-model, max_tokens: 1024 }
`,
  );
}
