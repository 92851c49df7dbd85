import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../../../agent-server/models/models-config.ts";
import { createPrices } from "../../../../agent-server/models/usage/prices.ts";
import { type Books, openBooks } from "./book.ts";

const configDir = join(import.meta.dirname, "../../../../config");
const day = "2026-11-22";

describe("the shipped prices", () => {
  it("are dated, in US dollars, each with its source", () => {
    const prices = createPrices({ configDir, dataDir: "/nowhere" });
    expect(prices.updated()).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(prices.problem()).toBeNull();
    const rows = readFileSync(join(configDir, "prices.yaml"), "utf8")
      .split(/^ {2}- /m)
      .slice(1);
    expect(rows.length).toBeGreaterThan(20);
    for (const row of rows) expect(row).toMatch(/source: https:\/\/\S+/);
  });

  it("know the shipped models, but for names that mean another model from time to time", () => {
    const prices = createPrices({ configDir, dataDir: "/nowhere" });
    const { config } = loadConfig(readFileSync(join(configDir, "models.yaml"), "utf8"), null);
    const without = Object.entries(config.providers).flatMap(([provider, { kind, fast, deep, cache }]) =>
      [fast, deep, cache].flatMap((profile) =>
        profile === undefined ||
        kind === "vscode" ||
        prices.of({ provider, kind, model: profile.model, onThisMachine: false }, day) !== null
          ? []
          : [profile.model],
      ),
    );
    expect(without.filter((model) => !model.endsWith("-latest"))).toEqual([]);
  });
});

describe("the owner's prices", () => {
  let books: Books;
  beforeEach(() => {
    books = openBooks();
  });
  afterEach(() => books.remove());
  const of = (provider: string, model: string, onThisMachine = false) =>
    createPrices({ configDir, dataDir: books.dataDir }).of({ provider, kind: "openai_compatible", model, onThisMachine }, day);

  it("come before the shipped ones, by kind or by the provider's name", () => {
    books.write(
      "prices.yaml",
      `prices:\n  - { provider: work, models: ["*"], input: 1, output: 2 }\n  - { kind: anthropic, models: [claude-sonnet-5-5], input: 7, output: 9 }\n`,
    );
    expect(of("work", "anything")).toMatchObject({ input: 1_000_000, cachedInput: 1_000_000, cacheWrite: 1_000_000, output: 2_000_000 });
    expect(of("other", "anything")).toBeNull();
    const prices = createPrices({ configDir, dataDir: books.dataDir });
    expect(prices.of({ provider: "anthropic", kind: "anthropic", model: "claude-sonnet-5-5", onThisMachine: false }, day)).toMatchObject({
      input: 7_000_000,
    });
  });

  it("can price a proxy on this machine, by its name alone", () => {
    books.write(
      "prices.yaml",
      `prices:\n  - { provider: proxy, models: ["*"], input: 3, output: 4 }\n  - { kind: openai_compatible, models: ["*"], input: 5, output: 6 }\n`,
    );
    expect(of("proxy", "m", true)).toMatchObject({ input: 3_000_000 });
    expect(of("ollama", "m", true)).toMatchObject({ input: 0, output: 0 });
  });

  it.each([
    ["not YAML", "prices: [", /line \d+: not YAML/],
    ["an unknown word", "prices:\n  - { kind: openai, models: [a], input: 1, output: 2, price: 3 }\n", /line 2: prices\.0/],
    [
      "a price below nothing",
      "prices:\n  - kind: openai\n    models: [a]\n    input: -1\n    output: 2\n",
      /line 4: prices\.0\.input must be at least 0/,
    ],
    [
      "reading from a cache dearer than reading",
      "prices:\n  - { kind: openai, models: [a], input: 1, cached_input: 2, output: 2 }\n",
      /cached_input must not be more than input/,
    ],
    ["a row for nobody", "prices:\n  - { models: [a], input: 1, output: 2 }\n", /a kind or a provider/],
    ["a date that is none", "updated: yesterday\n", /line 1: updated must be a day/],
  ])("with %s have no effect, and the line is named", (_, text, problem) => {
    books.write("prices.yaml", text);
    const prices = createPrices({ configDir, dataDir: books.dataDir });
    expect(prices.problem()).toMatch(problem);
    expect(prices.isUnknown()).toBe(true);
    expect(prices.of({ provider: "anthropic", kind: "anthropic", model: "claude-sonnet-5-5", onThisMachine: false }, day)).not.toBeNull();
  });

  it("count at once when the file changes", () => {
    const prices = createPrices({ configDir, dataDir: books.dataDir });
    const asked = { provider: "work", kind: "openai_compatible", model: "m", onThisMachine: false } as const;
    expect(prices.of(asked, day)).toBeNull();
    books.write("prices.yaml", "updated: 2027-01-02\nprices:\n  - { provider: work, models: [m], input: 1, output: 2 }\n");
    expect(prices.changed()).toBe(true);
    expect(prices.of(asked, day)).toMatchObject({ output: 2_000_000 });
    expect(prices.updated()).toBe("2027-01-02");
    expect(prices.changed()).toBe(false);
  });
});
