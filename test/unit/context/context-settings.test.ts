import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createContextSettings } from "../../../agent-server/context/context-settings.ts";

const configDir = join(import.meta.dirname, "../../../config");
let dataDir = "";
let problems: string[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-context-"));
  mkdirSync(join(dataDir, "config"));
  problems = [];
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const settings = () => {
  const file = createContextSettings({ configDir, dataDir, onProblem: (message) => problems.push(message) });
  return () => file.read().value;
};
const own = (text: string): void => writeFileSync(join(dataDir, "config/context.yaml"), text);

describe("config/context.yaml", () => {
  it("has a budget of 128,000 tokens as it is shipped", () => {
    expect(settings()()).toEqual({
      ...{ version: 1, budget_tokens: 128_000, shorten_at: 0.75, compact_at: 0.85, keep: 0.4 },
      ...{ summarizer: "local", summary_tokens: 1_500 },
    });
    expect(problems).toEqual([]);
  });

  it("takes the owner's over the shipped, key by key, and sees a change", () => {
    const read = settings();
    own("budget_tokens: 32000\n");
    expect(read()).toMatchObject({ budget_tokens: 32_000, keep: 0.4 });
    own("budget_tokens: 48000\nsummarizer: active\n");
    expect(read()).toMatchObject({ budget_tokens: 48_000, summarizer: "active" });
  });

  it.each([
    ["budget_tokens: lots\n", "budget_tokens"],
    ["keep: 0.9\n", "keep must be less than shorten_at"],
    ["surprise: 1\n", "surprise"],
    ["budget_tokens: [\n", "config/context.yaml"],
  ])("%j is left out as a whole, and said once", (text, message) => {
    own(text);
    const read = settings();
    expect(read()).toMatchObject({ budget_tokens: 128_000, keep: 0.4 });
    read();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });
});
