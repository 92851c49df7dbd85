import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitAnswer } from "../../../agent-server/contract/answer-sections.ts";

const titles = (text: string): string[] => splitAnswer(text).sections.map(({ title }) => title);
const joined = (text: string): string =>
  splitAnswer(text)
    .pieces.map((piece) => piece.text)
    .join("");
const said = "It is done.\n\n";

describe("the sections of an answer", () => {
  it.each([
    ["Assumptions", "## Assumptions"],
    ["Decision Points", "### Decision Points:"],
    ["Risks", "# **Risks**"],
    ["Done When", "###### __Done When__ ######"],
    ["Context", "## 1. Context"],
    ["MVP Path", "## 2) MVP Path"],
    ["Test Plan", "## **3. Test Plan:**"],
    ["Estimate", "##\t`Estimate`"],
    ["References", "   ## References"],
    ["RISKS", "## RISKS ##"],
    ["Done-when", "## Done-when"],
    ["Risks", "## ⚠️ Risks"],
    ["Risks", "Risks\n-----"],
    ["Assumptions", "Assumptions:\n==="],
  ])("finds %s in %j", (title, heading) => {
    const { chat, sections } = splitAnswer(`${said}${heading}\nOne.\n`);
    expect(sections).toEqual([{ title, text: `${heading}\nOne.\n` }]);
    expect(chat).toBe(said);
  });

  it.each([
    ["## Risks and benefits"],
    ["## Contextual"],
    ["##Risks"],
    ["####### Risks"],
    ["    ## Risks"],
    ["\t## Risks"],
    ["> ## Risks"],
    ["**Risks**"],
    ["Risks:"],
    ["- Risks\n---"],
    ["| Risks |\n| --- |"],
    ["Words before\nRisks\n-----"],
    ["```md\n## Risks\n```"],
    ["~~~\n## Risks\n~~~"],
    ["````\n```\n## Risks\n```\n````"],
    ["~~~\n```\n## Risks\n~~~"],
    ["```\n~~~\n## Risks\n```"],
    ["```js\n## Risks"],
    ["- a list\n\n  ```\n  ## Risks\n  ```"],
    ["- ```\n  ## Risks\n  ```"],
    ["10. text\n\n    ```sh\n    # Risks\n    ```"],
    ["- one\n  - ~~~\n    ## Risks\n    ~~~"],
    ["```\n    ```\n## Risks\n```"],
  ])("finds none in %j", (text) => {
    expect(splitAnswer(said + text)).toEqual({
      pieces: [{ title: null, text: said + text }],
      chat: said + text,
      sections: [],
      definitions: "",
    });
  });

  it("ends a section before the next heading of the same or a higher level", () => {
    const text =
      "Hello.\n## Risks\none\n### Details\ntwo\n#### Context\nthree\n## Result\nfour\n### Estimate\n1 h\n# End\nfive\nNext\n====\nsix\n";
    expect(splitAnswer(text)).toMatchObject({
      chat: "Hello.\n## Result\nfour\n# End\nfive\nNext\n====\nsix\n",
      sections: [
        { title: "Risks", text: "## Risks\none\n### Details\ntwo\n#### Context\nthree\n" },
        { title: "Estimate", text: "### Estimate\n1 h\n" },
      ],
    });
  });

  it("tells sections that follow each other apart", () => {
    expect(titles(`${said}## Risks\n## Context\nthree\n## Risks\nmore`)).toEqual(["Risks", "Context", "Risks"]);
  });

  it.each([["## Risks\nOne.\n"], ["# Plan\n\n## Risks\nOne.\n## Context\nTwo."], ["\n\n## Risks\n\nOne.\n# Done\n---\n"], [""], ["\n"]])(
    "leaves %j whole, because nothing would stay",
    (text) => {
      expect(splitAnswer(text)).toMatchObject({ chat: text, sections: [] });
    },
  );

  it("sees that the end of a list item ends an unclosed code block in it", () => {
    expect(titles("- ```\n  code\nText.\n\n## Risks\none")).toEqual(["Risks"]);
    expect(titles("1. ```sh\nnpm test\n```\n## Risks\n```\n")).toEqual([]);
  });

  it("keeps code blocks, tables of 150 rows and line endings byte for byte", () => {
    const code = "```ts\r\n## Risks\r\nconst a = `x`;\t\r\n```\r\n";
    const table = `| a | b |\n|---|---|\n${Array.from({ length: 150 }, (_, row) => `| ${row} |  \`x\` |\n`).join("")}`;
    const { chat, sections } = splitAnswer(`Text\r\n${code}${table}\n## Test Plan\r\n${table}${code}`);
    expect(chat).toBe(`Text\r\n${code}${table}\n`);
    expect(sections).toEqual([{ title: "Test Plan", text: `## Test Plan\r\n${table}${code}` }]);
  });

  it("gives the chat the links that a section defines", () => {
    const { definitions } = splitAnswer(
      "See [1].\n\n[0]: https://a.example\n## References\n[1]: https://b.example/x  \n- [2]: no\n```\n[3]: https://c.example\n```\n",
    );
    expect(definitions).toBe("[1]: https://b.example/x");
  });

  const line = fc.oneof(
    fc.constantFrom(
      ...[
        "## Risks",
        "# Context",
        "### Estimate:",
        "## Result",
        "```",
        "````md",
        "~~~",
        "  ```",
        "- ```",
        "    ~~~",
        "> ## Risks",
        "---",
        "===",
        "",
      ],
      ...["Text", "| a | b |", "\ud800", "1. item", "   code", "\t# Risks"],
    ),
    fc.string(),
  );
  const answer = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r", ""))).map((lines) => lines.flat().join(""));

  it("changes no byte of any answer, and always leaves something to show", () => {
    fc.assert(
      fc.property(answer, (text) => {
        const { chat, sections } = splitAnswer(text);
        expect(joined(text)).toBe(text);
        expect(chat.length + sections.reduce((sum, section) => sum + section.text.length, 0)).toBe(text.length);
        expect(chat.trim() === "").toBe(text.trim() === "");
        expect(splitAnswer(chat).chat.trim() === "").toBe(chat.trim() === "");
      }),
    );
  });

  it("never cuts a code block", () => {
    const fenced = fc.tuple(
      fc.constantFrom("```", "~~~", "`````"),
      fc.array(fc.constantFrom("## Risks", "code", "# Context", "", "  ## Estimate")),
    );
    fc.assert(
      fc.property(
        answer.filter((text) => !/[`~]/.test(text)),
        fenced,
        answer,
        (before, [mark, code], after) => {
          const block = `${mark}\n${code.join("\n")}\n${mark}\n`;
          const { pieces } = splitAnswer(`${before}\n\n${block}${after}`);
          expect(pieces.filter((piece) => piece.text.includes(block)).length).toBeGreaterThan(0);
        },
      ),
    );
  });
});
