import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { Message, ToolPart } from "../../../agent-server/contract/chat.ts";
import { createOutput } from "../../../agent-server/terminal/output.ts";
import { createRenderer } from "../../../agent-server/terminal/render.ts";

const questId = "00000000-0000-4000-8000-000000000001";
const messageId = "00000000-0000-4000-8000-000000000002";
const callId = "call-1";

function printed(pieces: readonly { offset: number; text: string }[], part?: Partial<ToolPart>): string[] {
  let out = "";
  const renderer = createRenderer(
    () => questId,
    createOutput(
      (text) => {
        out += text;
      },
      () => true,
    ),
  );
  for (const piece of pieces) renderer.handle({ seq: 1, topic: "toolOutput", payload: { questId, messageId, callId, ...piece } });
  if (part !== undefined) {
    const message = {
      id: messageId,
      questId,
      seq: 1,
      role: "assistant",
      open: false,
      parts: [{ type: "tool", callId, rules: [], ...part }],
    };
    renderer.handle({ seq: 2, topic: "message", payload: message as unknown as Message });
  }
  return stripColours(out).split("\n").filter(Boolean);
}

/** The colours this product adds itself. */
function stripColours(text: string): string {
  // oxlint-disable-next-line no-control-regex -- colours are control sequences
  return text.replaceAll(/\u001b\[\d*m/g, "");
}

describe("command output in the terminal", () => {
  it("comes line by line, whatever pieces it came in, and its last line with its end", () => {
    expect(
      printed(
        [
          { offset: 0, text: "one\ntw" },
          { offset: 6, text: "o\nthree" },
        ],
        { status: "success", title: "npm test", tier: "T2", verdict: "allow", receiptId: null },
      ),
    ).toEqual(["│ one", "│ two", "│ three", "✓ npm test (T2, allow)"]);
  });

  it("reports where something is missing", () => {
    expect(
      printed([
        { offset: 0, text: "one\n" },
        { offset: 1_000, text: "last\n" },
      ]),
    ).toEqual(["│ one", "│ …", "│ last"]);
  });

  it.each([
    [
      "moves of the cursor and titles",
      "\u001b[2J\u001b[Hhello\u001b]0;title\u0007\n",
      "│ ⟨U+001B⟩[2J⟨U+001B⟩[Hhello⟨U+001B⟩]0;title⟨U+0007⟩",
    ],
    ["a progress bar", "10%\r60%\r100%\r\n", "│ ⟨U+000D ×2⟩100%"],
    ["a text overwritten by another", "failed\rpassed\n", "│ ⟨U+000D ×1⟩passed"],
    ["colors, concealed text too", "\u001b[31mred\u001b[0m \u001b[8mconcealed\u001b[0m\n", "│ red concealed"],
    ["single controls", "a\u0007b\u0085c\u001b\n", "│ a⟨U+0007⟩b⟨U+0085⟩c⟨U+001B⟩"],
  ])("steers the terminal in no way: %s", (_what, text, line) => {
    const [shown] = printed([{ offset: 0, text }]);
    expect(shown).toBe(line);
    expect(stripVTControlCharacters(shown ?? "")).toBe(line);
  });

  it("names the files that were changed", () => {
    const files = Array.from({ length: 8 }, (_, index) => ({ path: `f${index}`, kind: "modified" as const, undoable: true }));
    const lines = printed([], {
      status: "success",
      title: "make",
      tier: "T2",
      verdict: "allow",
      receiptId: null,
      touched: { files, total: 12, checkpointId: null },
    });
    expect(lines.at(-1)).toBe(
      "changed: f0 (modified), f1 (modified), f2 (modified), f3 (modified), f4 (modified), f5 (modified) and 6 more",
    );
  });
});
