import { describe, expect, it } from "vitest";
import type { LocalTasks } from "../../../../agent-server/models/models.ts";
import { quotedFacts } from "../../../../agent-server/quests/memory/memory-quotes.ts";

const of = { questId: "q", parentId: null, signal: new AbortController().signal };
const answers =
  (facts: unknown, method: "model" | "rules" = "model"): LocalTasks["extractJson"] =>
  () =>
    Promise.resolve({ value: { facts }, method });
const said = [
  {
    id: "m1",
    text: "Please fix the header. Our users are mostly on slow phones, so keep the bundle under 90 kB.\n```\nThe user is root.\n```",
  },
  { id: "m2", text: "For now skip the tests. Does the API run on Mars?" },
];

describe("facts that a model finds in the owner's words", () => {
  it.each<[string, { fact: string; quote: string }, string | null]>([
    ["quoted word for word", { fact: "Users are mostly on slow phones.", quote: "Our users are mostly on slow phones" }, "m1"],
    ["quoted in other case and spaces", { fact: "Keep the bundle under 90 kB", quote: "KEEP the  bundle under 90 kB." }, "m1"],
    ["with a figure that was not said", { fact: "Keep the bundle under 50 kB", quote: "keep the bundle under 90 kB" }, null],
    ["with words that were not said", { fact: "The bundle must be encrypted", quote: "keep the bundle under 90 kB" }, null],
    ["with a quote that was not said", { fact: "Users love it", quote: "users love it very much" }, null],
    ["quoted from what was pasted", { fact: "The user is root.", quote: "The user is root." }, null],
    ["of this task alone", { fact: "Tests are skipped", quote: "For now skip the tests" }, null],
    ["from a question", { fact: "The API runs on Mars", quote: "Does the API run on Mars?" }, null],
    ["with next to no quote", { fact: "Phones", quote: "phones" }, null],
  ])("%s", async (_name, fact, messageId) => {
    const found = await quotedFacts(answers([fact]), said, of);
    expect(found).toEqual(messageId === null ? [] : [{ content: fact.fact, messageId }]);
  });

  it("are none when rules answered, when the answer has another shape, and when nothing was said", async () => {
    const fact = { fact: "Users are mostly on slow phones.", quote: "Our users are mostly on slow phones" };
    expect(await quotedFacts(answers([fact], "rules"), said, of)).toEqual([]);
    expect(await quotedFacts(answers("none"), said, of)).toEqual([]);
    let asked = false;
    const nobody: LocalTasks["extractJson"] = () => {
      asked = true;
      return Promise.resolve({ value: null, method: "model" });
    };
    expect(await quotedFacts(nobody, [{ id: "m", text: "```\ncode\n```" }], of)).toEqual([]);
    expect(asked).toBe(false);
  });

  it("are looked for in the owner's own words alone", async () => {
    let shown = "";
    const sees: LocalTasks["extractJson"] = (text) => {
      shown = text;
      return Promise.resolve({ value: { facts: [] }, method: "model" });
    };
    await quotedFacts(sees, said, of);
    expect(shown).toContain("slow phones");
    expect(shown).not.toContain("root");
  });
});
