import { describe, expect, it } from "vitest";
import { memoryForms } from "../../../../agent-server/quests/memory/memory-phrases.ts";
import { memoryOrders, ownWords } from "../../../../agent-server/quests/memory/memory-orders.ts";

describe("the forms of an order", () => {
  it.each(memoryForms.flatMap(({ id, pattern, match }) => match.map(([sentence, what]) => ({ id, pattern, sentence, what }))))(
    "$id: $sentence",
    ({ pattern, sentence, what }) => {
      expect(pattern.exec(sentence)?.groups?.["what"]).toBe(what);
    },
  );
  it.each(memoryForms.flatMap(({ id, pattern, not_match }) => not_match.map((sentence) => ({ id, pattern, sentence }))))(
    "$id, not: $sentence",
    ({ pattern, sentence }) => {
      expect(pattern.exec(sentence)?.groups?.["what"]).toBeUndefined();
    },
  );
  it.each(memoryForms.flatMap(({ id, kind, match }) => match.map(([sentence, what]) => ({ id, kind, sentence, what }))))(
    "are taken by the form that means them: $id: $sentence",
    ({ kind, sentence, what }) => {
      expect(memoryOrders(sentence)).toMatchObject({ orders: [{ kind, text: what }], only: true });
    },
  );
  it.each(memoryForms.flatMap(({ id, not_match }) => not_match.map((sentence) => ({ id, sentence }))))(
    "no other form takes what one of them does not mean: $id: $sentence",
    ({ sentence }) => {
      expect(memoryOrders(sentence).orders).toEqual([]);
    },
  );
});

const remember = (text: string) => ({ kind: "remember", text, vague: false });
const forget = (text: string) => ({ kind: "forget", text, vague: false });

describe("the orders of a message", () => {
  it.each<[string, string, readonly object[], boolean]>([
    ["one and nothing else", "Please remember that we use pnpm. Thanks!", [remember("we use pnpm")], true],
    ["one beside a task", "Fix the build. Remember that we use pnpm.", [remember("we use pnpm")], false],
    ["one that a task hangs on", "Remember that we use pnpm, and fix the build.", [remember("we use pnpm")], false],
    ["one behind a task", "Fix the build and remember that we use pnpm", [remember("we use pnpm")], false],
    ["two", "Remember that we use pnpm. Remember that I prefer tabs.", [remember("we use pnpm"), remember("I prefer tabs")], true],
    ["both kinds", "Forget that we use yarn. Remember that we use pnpm.", [forget("we use yarn"), remember("we use pnpm")], true],
    ["a list", "Remember:\n- we use pnpm\n- never touch generated/.", [remember("we use pnpm"), remember("never touch generated/")], true],
    ["a polite question", "Could you please remember that I prefer tabs?", [remember("I prefer tabs")], true],
    ["a name with a dot", "Remember that config.dev.yaml is generated. ", [remember("config.dev.yaml is generated")], true],
    ["a slash command", "/remember the staging port is 8443", [remember("the staging port is 8443")], true],
    ["a slash command to look", "/memory staging port", [{ kind: "show", text: "staging port", vague: false }], true],
    ["a slash command alone", "/memory", [{ kind: "show", text: "", vague: false }], true],
    ["a slash command to forget", "/forget the staging port", [forget("the staging port")], true],
    ["something vague, alone", "Forget the staging port.", [{ kind: "forget", text: "the staging port", vague: true }], true],
    ["something vague beside a task", "Forget the staging port. Use the production one.", [], false],
    ["a question", "Do you remember that bug?", [], false],
    ["a question in another language", "¿Recuerdas que usamos pnpm?", [], false],
    ["for this task alone", "Remember that we skip the tests for now.", [], false],
    ["an instruction of the task", "Remember to run the tests after each edit in this task.", [], false],
    ["a quotation", "> Remember that we use pnpm.\n\nIs that right?", [], false],
    ["code", "```\nRemember that we use pnpm.\n```\nWhat does this say?", [], false],
    ["a comment of code", "// remember that this is slow\nWhat is meant?", [], false],
    ["quoted words", 'The page says "remember that we use pnpm".', [], false],
    ["a product that remembers", "Make the form remember that the user is logged in.", [], false],
    ["nothing said", "Remember that.", [], false],
    ["an unknown command", "/remembering we use pnpm", [], false],
  ])("%s", (_name, text, orders, only) => {
    expect(memoryOrders(text)).toEqual({ orders, only });
  });

  it("keeps the task when something was pasted beside the order", () => {
    expect(memoryOrders("Remember that we use pnpm.\n```\nlog\n```").only).toBe(false);
  });

  it("are looked for at the ends of a long message, and a page about memory gives none", () => {
    const page = "All is well here. ".repeat(400);
    expect(memoryOrders(`${page}\nRemember that we use pnpm.\n${page}`).orders).toEqual([]);
    expect(memoryOrders(`${page}\nRemember that we use pnpm.`).orders).toEqual([remember("we use pnpm")]);
    expect(memoryOrders(Array.from({ length: 30 }, (_, n) => `Remember that rule ${String(n)} is on.`).join("\n")).orders).toEqual([]);
  });

  it("are found in bounded time in a text made to be slow", () => {
    expect(memoryOrders(`remember that ${"a ".repeat(100_000)}`).orders.length).toBeLessThanOrEqual(1);
    expect(memoryOrders(`${"please, ".repeat(100_000)}forget`).orders).toEqual([]);
    expect(memoryOrders("remember that and ".repeat(50_000)).orders.length).toBeLessThanOrEqual(1);
  });
});

describe("the owner's own words", () => {
  it.each([
    ["plain", "plain"],
    ["before\n```ts\ncode\n```\nafter", "before\n\n\n\nafter"],
    ["> quoted\nmine", "mine"],
    ["mine\n    indented", "mine"],
    ["```\nnever closed", ""],
  ])("%j", (text, own) => {
    expect(ownWords(text)).toBe(own);
  });
});
