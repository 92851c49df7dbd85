import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lanes } from "../../../../agent-server/contract/router.ts";
import { loadRouter, type RouterConfig } from "../../../../agent-server/models/router/router-config.ts";
import { chooseLane, lanesInUse } from "../../../../agent-server/models/router/lanes.ts";
import type { CallTask } from "../../../../agent-server/models/router/types.ts";
import { runs } from "../../../support/soak.ts";

const shippedText = readFileSync(join(import.meta.dirname, "../../../../config/router.yaml"), "utf8");
const shipped = loadRouter(shippedText, null, []).config;
const withOwner = (yaml: string): RouterConfig => {
  const { config, problem } = loadRouter(shippedText, yaml, ["work", "local"]);
  expect(problem).toBeNull();
  return config;
};

const [fast, deep, utility, redaction] = ["flagship_fast", "flagship_deep", "local_utility", "local_redaction"] as const;
const nothing = "Rename the function parse to parseLine.";
const prose = "word ".repeat(399);

describe("the published algorithm", () => {
  it.each<[type: string, text: string, lane: string, rule: string]>([
    // 1. Tasks of the host itself.
    ["classify_intent", nothing, utility, "local_task"],
    ["verify_intent", nothing, utility, "local_task"],
    ["extract_json", nothing, utility, "local_task"],
    ["summarize", nothing, utility, "local_task"],
    ["rag_rewrite", nothing, utility, "local_task"],
    ["SUMMARIZE", nothing, utility, "local_task"],
    [" summarize ", nothing, utility, "local_task"],
    // Words change nothing for them.
    ["summarize", "Drop the table users in production.", utility, "local_task"],
    ["extract_json", prose.repeat(3), utility, "local_task"],
    // 2. Redaction.
    ["redact", nothing, redaction, "redact"],
    ["redact", "Deploy to production.", redaction, "redact"],
    ["Redact", nothing, redaction, "redact"],
    // 3. Deep types.
    ["plan", nothing, deep, "deep_task"],
    ["analyze", nothing, deep, "deep_task"],
    ["architect", nothing, deep, "deep_task"],
    ["review", nothing, deep, "deep_task"],
    ["debug", nothing, deep, "deep_task"],
    ["decide", nothing, deep, "deep_task"],
    ["strategy", nothing, deep, "deep_task"],
    ["evaluate", nothing, deep, "deep_task"],
    ["diagnose", nothing, deep, "deep_task"],
    ["PLAN", nothing, deep, "deep_task"],
    ["review", "Deploy to production.", deep, "deep_task"],
    // 4. Words of risk.
    ["edit", "Deploy this to production.", deep, "risk"],
    ["edit", "deployment script, please", deep, "risk"],
    ["chat", "PRODUCTION is down", deep, "risk"],
    ["edit", "Drop the table users.", deep, "risk"],
    ["edit", "drop old tables", deep, "risk"],
    ["edit", "Delete the old staging database.", deep, "risk"],
    ["edit", "delete all of it", deep, "risk"],
    ["edit", "run rm -rf build", deep, "risk"],
    ["edit", "force push to main", deep, "risk"],
    ["edit", "force-push to main", deep, "risk"],
    ["edit", "Write a migration for the schema.", deep, "risk"],
    ["edit", "migrate to version 4", deep, "risk"],
    ["question", "Is this vulnerable to injection? I fear a vulnerability.", deep, "risk"],
    ["edit", "Store the credentials elsewhere.", deep, "risk"],
    ["edit", "hash the password", deep, "risk"],
    ["edit", "Add authentication to the API.", deep, "risk"],
    ["edit", "the payment page", deep, "risk"],
    ["edit", "Encrypt the backup.", deep, "risk"],
    ["question", "Can this lead to a race condition?", deep, "risk"],
    ["question", "why is there a\n  deadlock here", deep, "risk"],
    ["edit", "can this cause data   loss?", deep, "risk"],
    // Their whole families: what is lost is lost, whatever else the request does.
    ["edit", "delete the unused variable", deep, "risk"],
    ["edit", "Remove a typo.", deep, "risk"],
    ...[
      ...["delete", "Deletes", "deleted", "DELETING", "deletion", "deletions", "deletable", "DELETE_ALL"],
      ...["remove", "Removes", "removed", "removing", "REMOVAL", "removals"],
      ...["destroy", "Destroys", "destroyed", "destroying", "destroyer", "destruction", "destructive"],
      ...["critical", "Critically", "CRITICALITY", "emergency", "Emergencies"],
    ].map((word): [string, string, string, string] => ["edit", `This is about ${word}, please look.`, deep, "risk"]),
    // Questions about a word are not risk; what is asked besides is.
    ...[
      ...["what does delete do?", "What does delete cascade mean?", "what's an emergency fix?", "define critical section"],
      ...["What is the difference between delete and remove?", "explain the term destroy in Terraform", "what is a destructive migration"],
      ...["delete vs truncate", "why is it called a removal policy?", "was bedeutet delete?", "c'est quoi un rollback critical ?"],
      ...[
        "¿qué significa delete cascade?",
        "cosa significa delete cascade?",
        "o que significa delete cascade?",
        "what does “delete” mean?",
      ],
    ].map((text): [string, string, string, string] => ["question", text, fast, "default"]),
    ["edit", "What does delete mean? Then delete the old rows.", deep, "risk"],
    ["edit", "what does this flag do and remove it", deep, "risk"],
    ["question", "What is in the table? Remove it.", deep, "risk"],
    ["question", "Is it safe to delete this?", deep, "risk"],
    // Not risk: other words that hold them, code, words too far apart.
    ["edit", "the reproduction steps", fast, "default"],
    ["edit", "productions", fast, "default"],
    ["edit", "Rename `deploy` to `ship`.", fast, "default"],
    ["edit", "Why does this not compile?\n```\ndeploy(production)\n```", fast, "default"],
    ["edit", "```\nunclosed production", fast, "default"],
    ["edit", "Drop the unused import.", fast, "default"],
    ["edit", "undeleted rows and irremovable pins", fast, "default"],
    ["edit", "a hypercritical, indestructible thing", fast, "default"],
    ["edit", "Destructure the props.", fast, "default"],
    ["edit", "Rename `delete` to `discard`.", fast, "default"],
    ["edit", "drop one two three four five table", fast, "default"],
    ["edit", "drop one two three four table", deep, "risk"],
    // 5. Size.
    ["edit", `${prose}word`, deep, "complexity"],
    ["edit", prose, fast, "default"],
    ["edit", "1. a\n2. b\n3. c\n4. d\n5. e\n6. f", deep, "complexity"],
    ["edit", "- a\n- b\n- c\n- d\n- e", fast, "default"],
    ["edit", "Add a, then b, then c, then d, then e, and finally f.", deep, "complexity"],
    ["edit", "Change a.ts b.ts c.ts src/d.ts @e.tsx f.json", deep, "complexity"],
    ["edit", "Change a.ts a.ts a.ts A.ts @a.ts a.ts b.ts", fast, "default"],
    // 6. Everything else.
    ["chat", "Hello", fast, "default"],
    ["edit", nothing, fast, "default"],
    ["explain", "Explain this file.", fast, "default"],
    ["question", "What is a monad?", fast, "default"],
    ["test", "Write tests for add.", fast, "default"],
    ["commit", "Commit this.", fast, "default"],
    ["", "", fast, "default"],
    ["anything at all", nothing, fast, "default"],
    ["constructor", nothing, fast, "default"],
    ["__proto__", nothing, fast, "default"],
  ])("%s: %s", (type, text, lane, rule) => {
    expect(chooseLane(shipped, { type, text })).toMatchObject({ lane, rule });
  });

  it("reports the word that meant risk, as it stands in the request", () => {
    expect(chooseLane(shipped, { type: "edit", text: "please Drop  the old TABLE users" }).rationale).toContain("“Drop the old TABLE”");
  });
});

describe("what goes before the rules", () => {
  it.each<[Partial<CallTask>, string, string]>([
    [{ override: { lane: "flagship_deep" } }, deep, "override"],
    [{ override: { lane: "flagship_fast" }, type: "plan" }, fast, "override"],
    [{ override: { lane: "local_utility" }, text: "production" }, utility, "override"],
    [{ override: {}, type: "plan" }, deep, "deep_task"],
    [{ override: { provider: "work" }, type: "plan" }, deep, "deep_task"],
    [{ profile: "deep" }, deep, "deep_task"],
    [{ profile: "fast", text: "production" }, fast, "default"],
    [{ profile: "cache", type: "plan" }, fast, "default"],
    // A local task stays one.
    [{ profile: "deep", type: "summarize" }, utility, "local_task"],
  ])("%j", (task, lane, rule) => {
    expect(chooseLane(shipped, { type: "chat", text: "Hello", ...task })).toMatchObject({ lane, rule });
  });
});

describe("the owner's rules", () => {
  const order = (...named: string[]): string =>
    `routing_order:\n${named.map((lane, index) => `  - { lane: ${lane}, priority: ${index} }\n`).join("")}`;

  it.each<[yaml: string, type: string, text: string, lane: string, rule: string]>([
    ["deep_task_types: [test]", "test", nothing, deep, "deep_task"],
    ["deep_task_types: [test]", "plan", nothing, fast, "default"],
    ["local_utility_tasks: [chat]", "chat", nothing, utility, "local_task"],
    ["local_utility_tasks: []", "summarize", nothing, fast, "default"],
    ["escalation: { triggers: [{ type: failure }] }", "edit", "production", fast, "default"],
    ["escalation: { triggers: [{ type: risk, words: [gefährlich] }] }", "edit", "Das ist GEFÄHRLICH.", deep, "risk"],
    ["escalation: { triggers: [{ type: risk, words: [gefährlich] }] }", "edit", "production", fast, "default"],
    ["escalation: { triggers: [{ type: risk }] }", "edit", "production", deep, "risk"],
    ["escalation: { triggers: [{ type: complexity, words_at_least: 3 }] }", "edit", "one two three", deep, "complexity"],
    [
      "escalation: { triggers: [{ type: complexity, words_at_least: 3 }] }",
      "edit",
      "1. a\n2. b\n3. c\n4. d\n5. e\n6. f",
      deep,
      "complexity",
    ],
    [order(fast), "plan", nothing, fast, "deep_task"],
    [order(deep), "chat", nothing, deep, "default"],
    [order(utility, redaction), "plan", "production", utility, "deep_task"],
    [order(utility), "redact", nothing, utility, "redact"],
    [order(fast, deep), "summarize", nothing, utility, "local_task"],
    [order(fast, deep), "redact", nothing, redaction, "redact"],
  ])("%s: %s", (yaml, type, text, lane, rule) => {
    expect(chooseLane(withOwner(yaml), { type, text })).toMatchObject({ lane, rule });
  });

  it("says that a lane is not in use, and which takes its place", () => {
    const { rationale } = chooseLane(withOwner(order(fast)), { type: "plan", text: "" });
    expect(rationale).toContain("flagship_deep is not in your routing_order");
    expect(rationale).toContain("the fast model is used");
  });

  it("has its lanes in the order of their priorities", () => {
    expect(lanesInUse(withOwner("routing_order: [{ lane: flagship_deep, priority: 9 }, { lane: flagship_fast, priority: 1 }]"))).toEqual([
      fast,
      deep,
    ]);
  });
});

describe("for any task", () => {
  const types = fc.oneof(fc.constantFrom("plan", "review", "chat", "redact", "summarize", "edit"), fc.string());
  const texts = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.array(fc.constantFrom("production", "drop", "table", "- a\n", "x.ts", "`", "```", "..")).map((all) => all.join(" ")),
  );
  const configs = fc
    .record({
      order: fc.subarray([...lanes]),
      deep: fc.subarray(["plan", "review", "chat"]),
      words: fc.array(fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.constantFrom("*", "..", "drop .. table", "a*b", "(")), {
        maxLength: 5,
      }),
      on: fc.subarray(["risk", "complexity", "failure"] as const),
    })
    .map(
      ({ order, deep: deepTypes, words, on }): RouterConfig => ({
        ...shipped,
        routing_order: order.map((lane, priority) => ({ lane, priority })),
        deep_task_types: deepTypes,
        escalation: { triggers: on.map((type) => ({ type, words, words_at_least: 20 })) },
      }),
    );

  it("chooses one lane, always the same, with a reason", () => {
    fc.assert(
      fc.property(configs, types, texts, (config, type, text) => {
        const choice = chooseLane(config, { type, text });
        expect(lanes).toContain(choice.lane);
        expect(choice.rationale.length).toBeGreaterThan(10);
        expect(chooseLane(config, { type, text })).toEqual(choice);
        const used = lanesInUse(config);
        if (choice.lane.startsWith("flagship")) expect(used).toContain(choice.lane);
      }),
      { numRuns: runs(100, 400) },
    );
  });

  it("follows a lane the owner chose, whatever the rules say", () => {
    fc.assert(
      fc.property(configs, types, texts, fc.constantFrom(utility, fast, deep), (config, type, text, lane) => {
        expect(chooseLane(config, { type, text, override: { lane } })).toMatchObject({ lane, rule: "override" });
      }),
      { numRuns: 200 },
    );
  });

  it("takes no time to speak of for a text made to be hard to look through", () => {
    const hard = `drop ${"a ".repeat(50_000)}`;
    expect(chooseLane(shipped, { type: "edit", text: hard }).rule).toBe("complexity");
    expect(chooseLane(shipped, { type: "edit", text: "`".repeat(100_000) }).rule).toBe("default");
    expect(chooseLane(shipped, { type: "edit", text: "a".repeat(200_000) }).rule).toBe("default");
    expect(chooseLane(shipped, { type: "edit", text: "a/".repeat(100_000) }).rule).toBe("default");
  });
});
