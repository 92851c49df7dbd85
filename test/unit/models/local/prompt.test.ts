import { expect, it } from "vitest";
import { replyGrammar, toJson } from "../../../../agent-server/models/local/grammar.ts";
import { exampleTurns, systemText, toTurns } from "../../../../agent-server/models/local/prompt.ts";
import type { ToolSchema } from "../../../../agent-server/models/models.ts";

const tools: ToolSchema[] = [
  {
    name: "read_file",
    description: "Reads a text file. Long files come in parts.",
    parameters: { type: "object", properties: { path: { type: "string" }, limit: { type: "integer" } }, required: ["path"] },
  },
  { name: "list_files", description: "Lists files", parameters: { type: "object", properties: { kind: { enum: ["file", "folder"] } } } },
];

it("names the tools in few words, and shows small models how one is used", () => {
  const large = systemText("You are Lancelot.", tools, false);
  expect(large).toContain("- read_file(path, limit?: integer): Reads a text file.\n");
  expect(large).toContain("- list_files(kind?: file|folder): Lists files");
  expect(large).not.toContain("Long files");
  expect(systemText("You are Lancelot.", tools, true)).toContain("Tools: read_file(path), list_files(kind?).");
  expect(systemText("You are Lancelot.", [], true)).toBe("You are Lancelot.");
  expect(exampleTurns(tools, true)[1]).toEqual({ role: "assistant", text: '{"tool": "read_file", "args": {"path": "notes/todo.md"}}' });
  expect(exampleTurns(tools, false)).toEqual([]);
  expect(exampleTurns(tools.slice(1), true)).toEqual([]);
});

it("reports the conversation as text: calls as they are made, images as what they are, the product's notes not at all", () => {
  expect(
    toTurns([
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image", mediaType: "image/png", data: "" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", text: "hm" },
          { type: "text", text: "I read it." },
          { type: "tool_call", id: "1", name: "read_file", args: { path: "a" } },
        ],
      },
      { role: "tool", results: [{ callId: "1", name: "read_file", text: "gone", isError: true }] },
      { role: "assistant", content: [{ type: "text", text: "It is gone.\n\n[Note: 1 tool output was shortened.]" }] },
    ]),
  ).toEqual([
    { role: "user", text: "Look\n[An image, which this model cannot see.]" },
    { role: "assistant", text: 'I read it.\n{"tool": "read_file", "args": {"path": "a"}}' },
    { role: "tool", results: [{ name: "read_file", text: "gone", isError: true }] },
    { role: "assistant", text: "It is gone." },
  ]);
});

it("makes a rule for each argument: required ones must come, optional ones may", () => {
  const grammar = replyGrammar(tools);
  expect(grammar).toContain(String.raw`"{" "\"path\": " string (", " "\"limit\": " integer)? "}"`);
  expect(grammar).toContain(String.raw`"\"file\"" | "\"folder\""`);
  expect(grammar.split("\n").find((line) => line.startsWith("root"))).toBe(String.raw`root ::= "{\"tool\"" call | [^{ \n] words0`);
});

it("ends schemas that contain themselves", () => {
  const node: Record<string, unknown> = { type: "object", properties: {} };
  let inner = node;
  for (let depth = 0; depth < 30; depth++) {
    const next = { type: "object", properties: {} };
    inner["properties"] = { child: next };
    inner = next;
  }
  expect(replyGrammar([{ name: "deep", description: "", parameters: node }]).split("\n").length).toBeLessThan(40);
});

it("writes JSON with one space after colon and comma", () => {
  const value = { a: [1, "x", null, true], b: { c: 'q"\n' }, d: undefined };
  expect(toJson(value)).toBe(String.raw`{"a": [1, "x", null, true], "b": {"c": "q\"\n"}}`);
  expect(JSON.parse(toJson(value))).toEqual({ a: [1, "x", null, true], b: { c: 'q"\n' } });
});
