import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createReplyReader, repeatsItself } from "../../../../agent-server/models/local/reply.ts";
import { runs } from "../../../support/soak.ts";

function read(pieces: string[]) {
  const reader = createReplyReader();
  const shown = pieces.map((piece) => reader.push(piece));
  const { text, call } = reader.end();
  return { text: shown.join("") + text, call, shown };
}

const content = fc
  .array(fc.constantFrom("a", "é", "😀", " ", "\n", "{", '{"', '{"to', '{"toll"', "}", '"tool"', "```"), { maxLength: 12 })
  .map((parts) => parts.join(""));
// An argument called __proto__ is dropped by the schema, as it should be.
const name = fc.string().filter((text) => text !== "__proto__");
const call = fc.record({ tool: fc.constantFrom("read_file", "x"), args: fc.dictionary(name, fc.string(), { maxKeys: 3 }) });

it("gives the same words and call however the reply is split", () => {
  fc.assert(
    fc.property(content, fc.option(call), fc.array(fc.nat(), { maxLength: 20 }), (text, made, cuts) => {
      const raw = text + (made === null ? "" : JSON.stringify(made));
      fc.pre(!text.includes('{"tool"') && !/\{"t?o?o?l?$/.test(text));
      const at = [...new Set(cuts.map((cut) => cut % (raw.length + 1)))].sort((a, b) => a - b);
      const pieces = [0, ...at].map((start, index) => raw.slice(start, at[index] ?? raw.length));
      const whole = read([raw]);
      const split = read(pieces);
      expect({ text: split.text, call: split.call }).toEqual({ text: whole.text, call: whole.call });
      expect(whole.text).toBe(text.trimEnd());
      expect(whole.call).toEqual(made === null ? { kind: "none" } : { kind: "call", name: made.tool, args: made.args });
    }),
    { numRuns: runs(125, 500) },
  );
});

it("never shows a part of a call, whole or cut off", () => {
  const raw = 'I look.\n{"tool": "read_file", "args": {"path": "a\\nb"}}';
  for (let end = 1; end <= raw.length; end++) {
    const { text } = read(Array.from(raw.slice(0, end)));
    // A lone brace may be anything.
    expect(text).toBe(end === 9 ? raw.slice(0, 9) : raw.slice(0, Math.min(end, 7)).trimEnd());
  }
});

it("shows words as soon as they cannot be a call", () => {
  expect(read(["Use ", '{"t', "ext", '"} here']).shown).toEqual(["Use", "", ' {"text', '"} here']);
});

it("reports a call that was cut off as malformed, with the tool it was for", () => {
  const raw = '{"tool": "edit_file", "args": {"path": "a.ts", "old_te';
  expect(read([raw]).call).toEqual({ kind: "malformed", name: "edit_file", raw });
});

it.each([
  ["the same line over and over", "I can help you with that.\n".repeat(4), true],
  ["a numbered list of one line", [7, 8, 9, 10].map((n) => `${n}. Provide support for the user's file manager.\n`).join(""), true],
  ["code with similar lines", "sum += price;\nsum += tax;\nsum += tip;\ncount += 1;\ntotal += sum;\n", false],
  ["two repetitions", "I can help you with that.\n".repeat(2), false],
  ["a ruler", "-".repeat(30), false],
  ["blank space", " ".repeat(200), false],
])("notices %s: %s", (_name, text, expected) => {
  expect(repeatsItself(text)).toBe(expected);
});
