// @vitest-environment jsdom
import { expect, it } from "vitest";
import { spokenText } from "../../../webviews/shared/markdown/spoken-text.ts";

it.each([
  ["a plain sentence", "I fixed it.", "I fixed it."],
  ["a sentence without its end", "I fixed **the** `total`", "I fixed the total."],
  ["a heading and a text", "## What I changed\n\nThe total.", "What I changed. The total."],
  ["a question", "Shall I *go on*?", "Shall I go on?"],
  ["a list", "Two things:\n- first one\n- `second`\n  1. inner", "Two things: first one. second. inner."],
  ["a link", "See [the notes](https://example.com/a_b).", "See the notes."],
  ["code", "Run this:\n\n```sh\nnpm test\nnpm run lint\n```\n\nDone", "Run this: Code, 2 lines. Done."],
  ["a table", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "Table, 2 rows."],
  ["a quotation", "> It **works**", "It works."],
  ["a line in a list with two paragraphs", "- one\n\n  two", "one. two."],
  ["marks of a person", "2 * 3 * 4 is 24", "2 * 3 * 4 is 24."],
  ["HTML, which is text", "a <b>bold</b> move", "a <b>bold</b> move."],
  ["nothing", "", ""],
])("%s is announced as sentences", (_, markdown, spoken) => {
  expect(spokenText(markdown)).toBe(spoken);
});
