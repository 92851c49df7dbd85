import { afterEach, describe, expect, it } from "vitest";
import { ModelsConfig } from "../../../agent-server/models/models-config.ts";
import { createSelection } from "../../../agent-server/models/provider-selection.ts";
import { ask, createModelsFixture, failure, localIn, type ModelsFixture } from "../../support/models-fixture.ts";

const ignore = () => Promise.resolve();
const open: ModelsFixture[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
function fixture(options: Parameters<typeof createModelsFixture>[0] = {}): ModelsFixture {
  const made = createModelsFixture({ local: localIn({}), ...options });
  open.push(made);
  return made;
}
const all = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o", GEMINI_API_KEY: "g", XAI_API_KEY: "x" };
const server =
  'providers:\n  work: { kind: openai_compatible, base_url: "http://127.0.0.1:9/v1", fast: { model: m, context_window: 9000 } }\n';

it.each([
  ["at its own address", {}, "https://api.anthropic.com", false],
  ["not at an address of the owner's", { base_url: "http://127.0.0.1:9" }, "http://127.0.0.1:9", true],
  ["not with a key of the owner's", { api_key_name: "MY_KEY" }, "https://api.anthropic.com", true],
])("a sign-in is used for a provider %s", async (_, more, baseUrl, hasOwnKey) => {
  const selection = createSelection({
    secrets: { get: () => Promise.resolve("own key"), set: ignore, delete: ignore, list: () => Promise.resolve([]) },
    gatedFetch: () => fetch,
    localState: () => {
      throw new Error("The local model is not asked for.");
    },
    oauth: { token: () => Promise.resolve({ accessToken: "a token", headers: {} }) },
  });
  const config = ModelsConfig.parse({ providers: { work: { kind: "anthropic", fast: { model: "m" }, ...more } } });
  const found = await selection.candidate("work", config);
  expect(found).toMatchObject({ problem: null, connection: { baseUrl } });
  expect(found?.connection?.key === "own key").toBe(hasOwnKey);
});

describe("who answers", () => {
  it.each<[string, Parameters<typeof createModelsFixture>[0], string]>([
    ["the first with a key: Anthropic", { keys: all }, "anthropic/claude-sonnet-5-5"],
    ["then OpenAI", { keys: { OPENAI_API_KEY: "o", GEMINI_API_KEY: "g", XAI_API_KEY: "x" } }, "openai/gpt-6.1-terra"],
    ["then Gemini", { keys: { GEMINI_API_KEY: "g", XAI_API_KEY: "x" } }, "gemini/gemini-3.8-flash"],
    ["then xAI", { keys: { XAI_API_KEY: "x" } }, "xai/grok-4-1-fast-non-reasoning"],
    ["without a key the local model", { local: localIn({ status: "ready" }) }, "local/Small model"],
    [
      "a key before the local model",
      { keys: { XAI_API_KEY: "x" }, local: localIn({ status: "loaded" }) },
      "xai/grok-4-1-fast-non-reasoning",
    ],
    ["what the owner chose", { keys: all, yaml: `active: work\n${server}` }, "work/m"],
    [
      "the local model when the owner chose it",
      { keys: all, yaml: "active: local\n", local: localIn({ status: "ready" }) },
      "local/Small model",
    ],
    ["what the environment says", { keys: all, yaml: `active: openai\n${server}`, env: { LANCELOT_PROVIDER: "work" } }, "work/m"],
    [
      "an owner's server needs no key, but is never chosen by itself",
      { yaml: server, keys: { XAI_API_KEY: "x" } },
      "xai/grok-4-1-fast-non-reasoning",
    ],
    ["a local server the owner named", { yaml: 'local: { url: "http://127.0.0.1:9/v1", model: qwen }\n' }, "local/qwen"],
    [
      "what the environment says beside a broken file",
      { yaml: "active: [", keys: all, env: { LANCELOT_PROVIDER: "anthropic" } },
      "anthropic/claude-sonnet-5-5",
    ],
  ])("%s", async (_, options, expected) => {
    const active = await fixture(options).models.active();
    expect(`${active.provider}/${active.model}`).toBe(expected);
  });

  it.each<[string, Parameters<typeof createModelsFixture>[0], string, string]>([
    ["nothing at all", {}, "(322 MB)", "choose_model"],
    [
      "a download in progress",
      { local: localIn({ status: "downloading", doneBytes: 100_000_000 }) },
      "(322 MB). Downloading: 100 MB of 322 MB.",
      "choose_model",
    ],
    ["a local model switched off", { yaml: "local: { enabled: false }\n", local: localIn({ status: "ready" }) }, "API key", "choose_model"],
    [
      "a choice without a key",
      { yaml: "active: openai\n", keys: { ANTHROPIC_API_KEY: "a" } },
      "OpenAI has no API key (OPENAI_API_KEY).",
      "set_key",
    ],
    [
      "the local model chosen but not here",
      { yaml: "active: local\n", keys: all },
      "Local model: Not downloaded yet (322 MB).",
      "download_model",
    ],
    [
      "an unknown name in the environment",
      { env: { LANCELOT_PROVIDER: "nobody" }, keys: all },
      'LANCELOT_PROVIDER names "nobody"',
      "choose_model",
    ],
    [
      "a plain http address elsewhere",
      { yaml: `active: work\n${server.replace("127.0.0.1", "models.example.com")}` },
      "base_url of work in config/models.yaml",
      "choose_model",
    ],
    [
      "a broken file, whatever keys there are",
      { yaml: "active: [", keys: all },
      "Until it is corrected, nothing is sent to a model.",
      "choose_model",
    ],
    ["the editor's own models without an editor", { yaml: "active: editor\n" }, "within VS Code", "choose_model"],
  ])("%s is unavailable, with the next step", async (_, options, said, action) => {
    const { models } = fixture(options);
    const error = await failure(models.active());
    expect(error.code).toBe("unavailable");
    expect(error.message).toContain(said);
    expect(error.data?.["action"]).toBe(action);
    expect((await failure(ask(models, {}))).message).toBe(error.message);
  });

  it.each([
    ["for its lane", { router: "lanes: { flagship_fast: { provider: openai } }\n" }, undefined],
    ["for the task", {}, { provider: "openai" }],
  ])("nobody while the file is broken, whom the owner named %s either", async (_, options, override) => {
    const { models } = fixture({ yaml: "active: [", keys: all, ...options });
    const route = models.routes().next({ type: "chat", text: "Hello", override });
    await expect(route).rejects.toMatchObject({ code: "unavailable", data: { action: "choose_model" } });
  });

  it("reports a broken file: beside the choice, in the list, in the ledger once", async () => {
    const { models, ledger } = fixture({ yaml: "active: [", keys: all, env: { LANCELOT_PROVIDER: "anthropic" } });
    const { notice } = await models.active();
    expect(notice).toContain("config/models.yaml in the data folder, line 1");
    const { problem } = await models.list("anthropic", AbortSignal.timeout(1)).catch(() => ({ problem: notice }));
    expect(problem).toBe(notice);
    await models.active();
    ledger.flush();
    expect(ledger.search({ query: "models_config_rejected", limit: 10 }).items.map(({ status }) => status)).toEqual(["failure"]);
  });
});

describe("choosing", () => {
  it("makes a provider and model the active ones and says so", async () => {
    const { models, ledger } = fixture({ keys: all });
    const changes: unknown[] = [];
    models.onChange((change) => changes.push(change));
    expect(await models.choose("gemini", "gemini-x")).toEqual({ provider: "gemini", model: "gemini-x" });
    expect(changes).toEqual([{ models: true }]);
    expect(ledger.search({ query: "choose", limit: 10 }).items).toMatchObject([
      { actionName: "models.choose", status: "success", riskTier: "T1", inputs: { provider: "gemini", model: "gemini-x" } },
    ]);
    expect(await models.active()).toMatchObject({ provider: "gemini", model: "gemini-x", kind: "gemini" });
    expect(await models.choose("local")).toEqual({ provider: "local", model: "Small model" });
    expect((await failure(models.active())).message).toContain("Not downloaded");
  });

  it.each([
    ["an unknown provider", {}, "nobody", "not_found"],
    ["another than the environment's", { env: { LANCELOT_PROVIDER: "openai" } }, "gemini", "conflict"],
    ["while the file is broken", { yaml: "active: [" }, "gemini", "conflict"],
  ])("%s is refused", async (_, options, name, code) => {
    expect((await failure(fixture(options).models.choose(name))).code).toBe(code);
  });

  it("follows a file the owner edits", async () => {
    const { models, writeConfig } = fixture({ keys: all });
    expect((await models.active()).provider).toBe("anthropic");
    writeConfig(`active: work\n${server}`);
    expect(await models.active()).toMatchObject({ provider: "work", contextWindow: 9000, small: false });
  });
});

describe("the local model", () => {
  it("answers through the same pipeline, with a receipt", async () => {
    const { models, receipts } = fixture({ local: localIn({ status: "ready" }) });
    const { text } = await ask(models, {});
    expect(text).toBe("local words");
    expect(receipts().map(({ actionName, status }) => [actionName, status])).toEqual([["local/Small model", "success"]]);
    expect(await models.active()).toMatchObject({ small: true, contextWindow: 4096 });
  });

  it("is shown as a server when the owner named one, and not downloaded when turned off", async () => {
    expect(fixture({ yaml: 'local: { url: "http://127.0.0.1:9/v1" }\n' }).models.local()).toMatchObject({
      status: "ready",
      source: "server",
    });
    expect((await failure(fixture({ yaml: "local: { enabled: false }\n" }).models.downloadLocal())).code).toBe("disabled");
  });

  it("that cannot even be described leaves the providers at work", async () => {
    const { models } = fixture({
      keys: all,
      local: () => {
        throw new Error("broken");
      },
    });
    expect((await models.active()).provider).toBe("anthropic");
    expect(models.local()).toMatchObject({ status: "failed" });
    expect((await failure(models.downloadLocal())).code).toBe("unavailable");
  });
});
