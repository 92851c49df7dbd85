import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Part, ToolPart } from "../../../../agent-server/contract/chat.ts";
import { beforeLastRequest, changedFiles, chooseCut, composeHead } from "../../../../agent-server/quests/context/compaction.ts";
import { toConversation } from "../../../../agent-server/quests/conversation.ts";
import { digest } from "../../../../agent-server/quests/context/digest.ts";
import { userStatements, ruleSentences } from "../../../../agent-server/quests/user-statements.ts";
import { piecesOf } from "../../../../agent-server/quests/context/quest-pieces.ts";
import type { StoredMessage } from "../../../../agent-server/quests/stored-quest.ts";
import { fitConversation } from "../../../../agent-server/context/budget.ts";
import { createDataFence, estimateTokens } from "../../../../agent-server/context/context.ts";

function stored(seq: number, role: "user" | "assistant", parts: Part[], turn: StoredMessage["turn"], open = false): StoredMessage {
  const createdAt = new Date(seq * 1000).toISOString();
  return { message: { id: `m${String(seq)}`, questId: "q", seq, role, parts, createdAt, open }, turn, attachments: null };
}

const owner = (seq: number, text: string): StoredMessage =>
  stored(seq, "user", [{ type: "text", text }], { kind: "user", content: [{ type: "text", text }] });

const says = (seq: number, text: string): StoredMessage =>
  stored(seq, "assistant", [{ type: "text", text }], { kind: "assistant", content: [{ type: "text", text }], cut: null, altered: [] });

function tool(name: string, args: Record<string, string>, output: string, more: Partial<ToolPart> = {}): ToolPart {
  return {
    ...{ type: "tool", callId: "", tool: name, args, title: `${name} ${args["path"] ?? ""}`.trim(), status: "success", tier: "T0" },
    ...{ verdict: null, rules: [], output, durationMs: 1, receiptId: null, approvalId: null, changeId: null },
    ...more,
  };
}

function calls(seq: number, ...parts: ToolPart[]): StoredMessage {
  const named = parts.map((part, index) => ({ ...part, callId: `c${String(seq)}-${String(index)}` }));
  const content = named.map((part) => ({ type: "tool_call" as const, id: part.callId, name: part.tool, args: part.args }));
  return stored(seq, "assistant", named, { kind: "assistant", content, cut: null, altered: [] });
}

const read = (seq: number, path: string, lines = 50): StoredMessage =>
  calls(seq, tool("read_file", { path }, `line of ${path}\n`.repeat(lines)));

const none = new Map<string, "whole">();

describe("the cut between summarized and kept messages", () => {
  const anyTask = fc
    .array(fc.tuple(fc.constantFrom("owner", "says", "read", "two", "open"), fc.nat({ max: 80 })), { minLength: 1, maxLength: 25 })
    .map((steps) =>
      steps.map(([kind, size], seq): StoredMessage => {
        if (kind === "owner") return owner(seq, `Request ${String(seq)}. `.repeat(size + 1));
        if (kind === "says") return says(seq, "Done. ".repeat(size + 1));
        if (kind === "read") return read(seq, `f${String(size)}.ts`, size);
        if (kind === "two") return calls(seq, tool("read_file", { path: "a.ts" }, "x"), tool("list_files", {}, "y".repeat(size)));
        return calls(seq, tool("run_command", { command: "x" }, "", { status: "running", output: null }));
      }),
    );

  it("keeps calls with their results, the last message and unfinished ones", () => {
    fc.assert(
      fc.property(anyTask, fc.integer({ min: -1, max: 10 }), fc.nat({ max: 3_000 }), (messages, after, keep) => {
        const cut = chooseCut(messages, none, after, keep);
        if (cut === null) return;
        expect(cut.message.seq).toBeGreaterThan(after);
        expect(cut.message.seq).toBeLessThan(messages.at(-1)?.message.seq ?? 0);
        const kept = messages.filter(({ message }) => message.seq > cut.message.seq);
        const gone = messages.filter(({ message }) => message.seq <= cut.message.seq && message.seq > after);
        expect(gone.some(({ message }) => message.parts.some((part) => part.type === "tool" && part.status === "running"))).toBe(false);
        const conversation = toConversation(kept);
        for (const [index, message] of conversation.entries()) {
          if (message.role !== "assistant") continue;
          const ids = message.content.flatMap((item) => (item.type === "tool_call" ? [item.id] : []));
          if (ids.length === 0) continue;
          const results = conversation[index + 1];
          expect(results?.role === "tool" ? results.results.map(({ callId }) => callId) : []).toEqual(ids);
        }
        expect(conversation[0]?.role).not.toBe("tool");
      }),
    );
  });

  it("keeps as many of the newest messages as fit, and cuts nothing when all fit", () => {
    const messages = [owner(0, "Go."), read(1, "a.ts"), read(2, "b.ts"), read(3, "c.ts")];
    expect(chooseCut(messages, none, -1, 1_000_000)).toBeNull();
    expect(chooseCut(messages, none, -1, 1)?.message.seq).toBe(2);
  });

  it("is before the last request when the user asks although everything fits", () => {
    const messages = [owner(0, "One."), says(1, "Done."), owner(2, "Two."), says(3, "Done.")];
    expect(beforeLastRequest(messages, -1)?.message.seq).toBe(1);
    expect(beforeLastRequest([owner(0, "One."), says(1, "Done.")], -1)?.message.seq).toBe(0);
    expect(beforeLastRequest([owner(0, "One.")], -1)).toBeNull();
  });
});

describe("a growing conversation", () => {
  const step = fc.oneof(
    fc.string({ minLength: 1, maxLength: 40 }).map((text) => (seq: number) => owner(seq, text)),
    fc.string({ minLength: 1, maxLength: 40 }).map((text) => (seq: number) => says(seq, text)),
    fc.tuple(fc.constantFrom("a.ts", "b.ts"), fc.nat({ max: 200 })).map(
      ([path, lines]) =>
        (seq: number) =>
          read(seq, path, lines),
    ),
  );

  it("starts with the previous conversation, byte for byte, while it fits", () => {
    const data = createDataFence("0123456789abcdef");
    const flat = (messages: StoredMessage[]): string[] =>
      fitConversation(toConversation(messages), 10_000_000, data).messages.flatMap((message) =>
        message.role === "tool"
          ? message.results.map((one) => JSON.stringify(one))
          : message.content.map((one) => JSON.stringify([message.role, one])),
      );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), step, (steps, another) => {
        const messages = steps.map((make, seq) => make(seq));
        const before = flat(messages);
        expect(flat([...messages, another(messages.length)]).slice(0, before.length)).toEqual(before);
      }),
    );
  });
});

describe("the replacement for summarized messages", () => {
  const state = { plan: [], approvals: [], changes: [] };
  const textOf = (head: ReturnType<typeof composeHead>): string => head.map((item) => (item.type === "text" ? item.text : "")).join("\n");

  it("contains user messages verbatim, plan, approvals and questions, and the summary as data", () => {
    const question = calls(3, tool("ask_owner", { question: "Which port?" }, "", { status: "waiting", output: null }));
    const answered = calls(2, tool("ask_owner", { question: "Which database?" }, "SQLite, always."));
    const head = composeHead(
      [owner(0, "Build it.\nNo frameworks."), says(1, "Yes."), answered, question],
      { ...state, plan: [{ title: "Parse", status: "active", doneWhen: "it parses" }] },
      "Found the parser in src/parse.ts.",
      10_000,
    );
    const text = textOf(head);
    for (const expectedText of [
      "1. Build it.\nNo frameworks.",
      "(asked: Which database?) SQLite, always.",
      "- [active] Parse (done when: it parses)",
      "- Which port?",
    ])
      expect(text).toContain(expectedText);
    expect(head.at(-1)).toMatchObject({ text: "Found the parser in src/parse.ts.", attached: true });
    expect(head[0]).not.toHaveProperty("attached");
  });

  it("keeps every sentence with a rule when user messages do not fit", () => {
    const chatter = "This is how I came to think of it, at some length. ".repeat(20);
    const messages = Array.from({ length: 12 }, (_, index) => owner(index, `${chatter}Never touch folder ${String(index)}. ${chatter}`));
    const text = textOf(composeHead(messages, state, "", 200));
    for (let index = 0; index < 12; index += 1) expect(text).toContain(`Never touch folder ${String(index)}.`);
    expect(estimateTokens(text)).toBeLessThan(estimateTokens(messages.map(({ message }) => JSON.stringify(message.parts)).join("")) / 2);
  });

  it.each([
    ["Use tabs. Never push to main. Thanks!", ["Never push to main."]],
    ["Wir nehmen SQLite. Danke.", ["Wir nehmen SQLite."]],
    ["Il faut garder l'API. Merci.", ["Il faut garder l'API."]],
    ["No uses var; siempre const.", ["No uses var; siempre const."]],
    ["Can you look at it?", []],
    ["We decided to drop IE.\nHow is the weather", ["We decided to drop IE."]],
  ])("sees the rule in %j", (text, expected) => {
    expect(ruleSentences(text)).toEqual(expected);
  });

  it("does not treat messages of the host as user messages", () => {
    const review = stored(1, "user", [{ type: "notice", level: "info", text: "You accepted." }], {
      kind: "user",
      content: [{ type: "text", text: "a.ts: accepted" }],
    });
    expect(userStatements([owner(0, "Go."), review]).map(({ text }) => text)).toEqual(["Go."]);
  });

  it("lists each changed file with its changes", () => {
    const hunk = { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: [] };
    const at = new Date(0).toISOString();
    const lines = changedFiles(
      [
        calls(0, tool("edit_file", { path: "src/a.ts" }, "ok", { tier: "T1", changeId: "1" })),
        calls(
          1,
          tool("write_file", { path: "src/b.ts" }, "ok", { tier: "T1" }),
          tool("write_file", { path: "src/b.ts" }, "ok", { tier: "T1" }),
        ),
        calls(
          2,
          tool("run_command", { command: "make" }, "ok", {
            tier: "T2",
            title: "make",
            touched: { files: [{ path: "out.js", kind: "created", undoable: true }], total: 1, checkpointId: null },
          }),
        ),
        calls(3, tool("edit_file", { path: "src/c.ts" }, "no", { tier: "T1", status: "failure" })),
      ],
      [
        {
          ...{
            id: "1",
            questId: "q",
            path: "src/a.ts",
            kind: "modify",
            status: "accepted",
            createdAt: at,
            updatedAt: at,
            receiptId: null,
            problem: null,
          },
          hunks: [
            { ...hunk, index: 0, state: "accepted" },
            { ...hunk, index: 1, state: "rejected" },
          ],
        },
      ],
    );
    expect(lines).toEqual([
      "- out.js: created by make",
      "- src/a.ts: modify accepted, 1 of 2 parts accepted",
      "- src/b.ts: write_file src/b.ts (2 times)",
    ]);
  });
});

describe("a summary by rules", () => {
  it("lists requests, reads, commands and conclusions", () => {
    const text = digest(
      [
        owner(0, "Fix the parser. It is slow."),
        read(1, "src/parse.ts"),
        calls(
          2,
          tool("run_command", { command: "npm test" }, "1 failed", {
            title: "npm test",
            command: { text: "npm test", cwd: ".", place: null, network: false, exitCode: 1, ended: "exit" },
          }),
        ),
        calls(
          3,
          tool("edit_file", { path: "src/parse.ts" }, "The text is not in the file. Read it.", {
            status: "failure",
            title: "Edit src/parse.ts",
          }),
        ),
        says(4, "The cause is a quadratic loop. I replaced it."),
      ],
      1_000,
    );
    expect(text).toBe(
      [
        "- Asked: Fix the parser.",
        "  Read: src/parse.ts",
        "  npm test: exit code 1",
        "  Edit src/parse.ts: failure: The text is not in the file.",
        "  Answered: The cause is a quadratic loop.",
      ].join("\n"),
    );
  });

  it("stays within its tokens and prefers the newest", () => {
    const task = fc.array(fc.tuple(fc.string({ maxLength: 200 }), fc.string({ maxLength: 400 })), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(task, fc.integer({ min: 60, max: 600 }), (pairs, tokens) => {
        const messages = pairs.flatMap(([asked, said], index) => [owner(index * 2, `Asked ${asked}`), says(index * 2 + 1, `Said ${said}`)]);
        const text = digest(messages, tokens);
        expect(estimateTokens(text)).toBeLessThanOrEqual(tokens + 150);
        expect(digest(messages, tokens)).toBe(text);
      }),
    );
  });
});

describe("the last use of a piece", () => {
  it("counts later reads, edits and mentions of its file", () => {
    const messages = [
      owner(0, "Go."),
      read(1, "src/a.ts"),
      read(2, "src/b.ts"),
      read(3, "src/data.ts"),
      calls(4, tool("edit_file", { path: "./src/a.ts" }, "ok", { tier: "T1" })),
      owner(5, "And b.ts?"),
      says(6, "Yes."),
    ];
    const used = piecesOf(messages, new Map()).map(({ path, seq, lastUsed }) => [path, seq, lastUsed]);
    expect(used).toEqual([
      ["src/a.ts", 1, 4],
      ["src/b.ts", 2, 5],
      ["src/data.ts", 3, 3],
      ["src/a.ts", 4, 4],
    ]);
  });
});
