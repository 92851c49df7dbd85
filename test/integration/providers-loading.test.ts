import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ask, createModelsFixture } from "../support/models-fixture.ts";
import { inOrder } from "../support/model-server/script.ts";
import { startModelServer } from "../support/model-server/server.ts";

const main = join(import.meta.dirname, "../support/providers/main.ts");

describe("what a mode loads", () => {
  it.each([
    ["api", []],
    ["sdk", ["@anthropic-ai/sdk", "@google/genai", "openai"]],
  ])("%s: %j", async (mode, expected) => {
    const { stdout } = await promisify(execFile)(process.execPath, [main, mode]);
    const { texts, loaded } = JSON.parse(stdout) as { texts: string[]; loaded: string[] };
    expect(texts).toEqual(Array.from({ length: 6 }, () => "Done."));
    expect(loaded).toEqual(expected);
  });
});

describe("the mode of a provider", () => {
  const yaml = (url: string, mode: string): string =>
    `active: work\nproviders: { work: { kind: anthropic, mode: ${mode}, base_url: "${url}", fast: { model: claude-sonnet-5-5 } } }\n`;

  it.each([
    ["sdk", true, true],
    ["api", true, false],
    ["sdk", false, false],
    ["api", false, false],
  ])("%s in models.yaml, with PROVIDER_SDK %s", async (mode, flag, bySdk) => {
    const server = await startModelServer({ script: inOrder({ text: "Done." }) });
    const fixture = createModelsFixture({
      yaml: yaml(server.url("anthropic"), mode),
      keys: { ANTHROPIC_API_KEY: "k" },
      sdkEnabled: () => flag,
    });
    try {
      expect((await ask(fixture.models, {})).text).toBe("Done.");
      // The SDK says in a header who asks.
      expect(server.requests.map(({ headers }) => "x-stainless-lang" in headers)).toEqual([bySdk]);
      expect(server.requests[0]?.headers["anthropic-version"]).toBe("2026-10-21");
    } finally {
      await fixture.close();
      await server.close();
    }
  });
});
