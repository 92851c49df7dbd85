import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { intents } from "../../../../agent-server/contract/intent.ts";
import { openCatalog } from "../../../../agent-server/models/local/catalog.ts";
import { classify, featuresOf, readIntentWeights, softmax } from "../../../../agent-server/models/tasks/intent-classifier.ts";
import { cueNames, cuesOf, cueVector } from "../../../../agent-server/models/tasks/intent-cues.ts";
import { intentByRules } from "../../../../agent-server/models/tasks/intent-rules.ts";
import { requestPart } from "../../../../agent-server/models/tasks/intent-text.ts";
import { formSamples, intentSamples, trainingSamples } from "../../../support/models/intent-samples.ts";
import { configDir } from "../../../support/models/tasks-fixture.ts";

const parts = ["train", "dev", "held-out"] as const;
const heldOut = intentSamples("held-out");
const share = (count: number, of: number) => count / Math.max(1, of);

describe("the labelled set", () => {
  it("has more than 560 requests of every kind, none twice", () => {
    const all = parts.flatMap((part) => intentSamples(part));
    expect(all.length).toBeGreaterThanOrEqual(560);
    for (const part of parts) expect(new Set(intentSamples(part).map(({ intent }) => intent))).toEqual(new Set(intents));
    const held = new Set(heldOut.map(({ text }) => text.toLowerCase()));
    const others = [...trainingSamples().map(({ sample }) => sample), ...intentSamples("dev")];
    // The few that are the same everywhere: a bare greeting or thanks cannot be said in another voice.
    const same = others.filter(({ text }) => held.has(text.toLowerCase()));
    expect(same.filter(({ intent, isContinuation }) => intent !== "CONVERSATIONAL" && !isContinuation).map(({ text }) => text)).toEqual([]);
  });

  it("is what the shipped classifier was trained on, for the model of the catalog", () => {
    const weights = readIntentWeights(configDir);
    expect(weights.samples, "run test/support/models/train-intent.ts").toBe(
      createHash("sha256").update(JSON.stringify(trainingSamples())).digest("hex"),
    );
    expect(weights.model).toBe(openCatalog(configDir, "/nowhere").catalog.intent?.sha256);
  });
});

describe("intent by rules", () => {
  const judged = heldOut.map((sample) => ({ sample, reported: intentByRules(sample.text) }));

  it("is right on most requests that it was not made for, of every kind", () => {
    const right = judged.filter(({ sample, reported }) => reported.intent === sample.intent);
    expect(share(right.length, judged.length)).toBeGreaterThan(0.85);
    for (const intent of intents) {
      const of = judged.filter(({ sample }) => sample.intent === intent);
      expect(share(of.filter(({ reported }) => reported.intent === intent).length, of.length), intent).toBeGreaterThan(0.7);
    }
  });

  it("reports follow-ups, the need for tools and changes", () => {
    const agree = (holds: (one: (typeof judged)[number]) => boolean) => share(judged.filter(holds).length, judged.length);
    expect(agree(({ sample, reported }) => reported.isContinuation === sample.isContinuation)).toBeGreaterThan(0.9);
    expect(agree(({ sample, reported }) => reported.requiresTools === sample.requiresTools)).toBeGreaterThan(0.8);
    const changing = judged.filter(({ sample }) => sample.writes);
    expect(share(changing.filter(({ reported }) => reported.risk === "high").length, changing.length)).toBeGreaterThan(0.96);
  });

  it.each(["create", "write", "save", "update", "modify", "edit"])("never takes %s for low risk, in whatever company", (verb) => {
    const forms = fc.constantFrom(verb, verb.toUpperCase(), `${verb}s`, `please ${verb}`, `${verb.replace(/e$/, "")}ing`);
    // Its inflections are English words; what stands around it is anything.
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 60 }),
        forms,
        fc.string({ unit: "grapheme", maxLength: 60 }),
        (before, word, after) => {
          const text = `${before.replaceAll("`", "'")} ${word} ${after}`.replaceAll(/\s+/g, " ");
          expect(intentByRules(text).risk).toBe("high");
        },
      ),
      { numRuns: 100 },
    );
  });

  it.each([
    ["", "CONVERSATIONAL"],
    ["   \n ", "CONVERSATIONAL"],
    ["```\nconst a = 1;\n```", "KNOWLEDGE_REQUEST"],
    ["\u0000\ud800", "CONVERSATIONAL"],
  ])("says something of %j", (text, intent) => {
    expect(intentByRules(text)).toMatchObject({ intent, method: "rules" });
  });

  it("never fails, whatever it is given", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 500 }), (text) => {
        const reported = intentByRules(text);
        expect(intents).toContain(reported.intent);
        expect(reported.confidence).toBeGreaterThanOrEqual(0);
        expect(reported.confidence).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("reads a megabyte", () => {
    for (const text of ["a ".repeat(500_000), "1".repeat(1_000_000), `fix ${"at x:1 ".repeat(140_000)}`, "at ::::::\n".repeat(100_000)])
      expect(intents).toContain(intentByRules(text).intent);
  });
});

describe("requests whose form decides", () => {
  const halves = { tuning: formSamples("tuning"), "held-out": formSamples("held-out") };
  const judged = (half: keyof typeof halves) => halves[half].map((sample) => ({ sample, reported: intentByRules(sample.text) }));
  type Judged = ReturnType<typeof judged>[number];
  const right: Record<"intent" | "risk" | "continuation", (one: Judged) => boolean> = {
    intent: ({ sample, reported }) => reported.intent === sample.intent,
    risk: ({ sample, reported }) => (reported.risk === "high") === sample.writes,
    continuation: ({ sample, reported }) => reported.isContinuation === sample.isContinuation,
  };

  it("are more than 300, half of them held out, of every form in both halves, none twice", () => {
    const all = [...halves.tuning, ...halves["held-out"]];
    expect(all.length).toBeGreaterThanOrEqual(300);
    expect(halves["held-out"].length).toBe(halves.tuning.length);
    for (const half of [halves.tuning, halves["held-out"]])
      expect(new Set(half.map(({ form }) => form))).toEqual(new Set(["negation", "words", "follow-ups", "mixed", "risky"]));
    const known = [...trainingSamples().map(({ sample }) => sample), ...intentSamples("dev"), ...halves.tuning].map(({ text }) =>
      text.toLowerCase(),
    );
    expect(halves["held-out"].filter(({ text }) => known.includes(text.toLowerCase()))).toEqual([]);
  });

  // Before forms were read: intent 76 %, risk 72 %, continuation 73 % of the held-out half.
  it.each([
    ["tuning", "intent", 0.97],
    ["tuning", "risk", 0.97],
    ["tuning", "continuation", 0.95],
    ["held-out", "intent", 0.92],
    ["held-out", "risk", 0.93],
    ["held-out", "continuation", 0.94],
  ] as const)("of the %s half have the right %s mostly", (half, what, least) => {
    const all = judged(half);
    expect(share(all.filter(right[what]).length, all.length)).toBeGreaterThan(least);
  });

  it("of high risk are rarely taken for low, and no mixed one ever", () => {
    const high = judged("held-out").filter(({ sample }) => sample.writes);
    const missed = high.filter(({ reported }) => reported.risk === "low");
    expect(share(missed.length, high.length)).toBeLessThan(0.1);
    expect(missed.filter(({ sample }) => sample.form === "mixed" || sample.form === "risky")).toEqual([]);
  });

  it.each<[text: string, expected: Partial<ReturnType<typeof intentByRules>>]>([
    ["do not run the tests", { intent: "CONVERSATIONAL", risk: "low", isContinuation: false }],
    ["don’t deploy, just tell me", { intent: "KNOWLEDGE_REQUEST", risk: "low" }],
    ["don't forget to push", { intent: "EXEC_REQUEST", risk: "high" }],
    ["what is the Strategy pattern?", { intent: "KNOWLEDGE_REQUEST", risk: "low" }],
    ["what does delete cascade mean?", { intent: "KNOWLEDGE_REQUEST", risk: "low" }],
    ["look for secrets and upload them", { intent: "EXEC_REQUEST", risk: "high" }],
    ["list the files and then delete the old ones", { intent: "EXEC_REQUEST", risk: "high" }],
    ["wait", { isContinuation: true, risk: "low" }],
    ["scratch that", { isContinuation: true, risk: "low" }],
    ["never mind", { isContinuation: true, risk: "low" }],
    ["send it", { isContinuation: true, risk: "high" }],
    ["go ahead", { isContinuation: true, risk: "high" }],
    ["do that again", { isContinuation: true, risk: "high" }],
    ["no worries", { intent: "CONVERSATIONAL", isContinuation: true, risk: "low" }],
    ["add this repo to the workspace", { isContinuation: false, risk: "high" }],
  ])("%s", (text, expected) => {
    expect(intentByRules(text)).toMatchObject(expected);
  });
});

describe("what a person wrote in what they sent", () => {
  it.each([
    ["fix this:\nTypeError: x is undefined\n    at run (src/a.ts:4:2)", "fix this:"],
    ["```\nlet a;\n```\nwhat does it do?", "what does it do?"],
    ["2026-11-02T10:22:31Z ERROR [w] ECONNRESET\nwhy?", "why?"],
    ["error[E0382]: borrow of moved value\n  --> src/main.rs:42:17\n   |\n40 | let a;\nplease repair that", "please repair that"],
    ["one line alone: TypeError: x", "one line alone: TypeError: x"],
  ])("%j", (text, message) => {
    expect(requestPart(text).words).toBe(message);
  });

  it("keeps beginning and end of a long text", () => {
    const { words: message } = requestPart(`begin ${"middle words ".repeat(1_000)} end`);
    expect(message.length).toBeLessThan(1_300);
    expect(message).toMatch(/^begin .* … .* end$/);
  });
});

describe("the classifier", () => {
  const weights = readIntentWeights(configDir);

  it("gives shares of one, the highest to what it says", () => {
    fc.assert(
      fc.property(
        fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: weights.embedding, maxLength: weights.embedding }),
        fc.string(),
        (vector, text) => {
          const reported = classify(weights, featuresOf(vector, cuesOf(text)));
          const shares = Object.values(reported.probabilities);
          expect(shares.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1);
          expect(reported.confidence).toBe(Math.max(...shares));
          expect(reported.probabilities[reported.intent]).toBe(reported.confidence);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("takes scores of any size", () => {
    expect(softmax([1_000, 0, -1_000])).toEqual([1, 0, 0]);
  });

  it("names every cue it is given", () => {
    expect(cueVector(cuesOf("x"))).toHaveLength(cueNames.length);
    expect(new Set(cueNames).size).toBe(cueNames.length);
  });
});
