import { describe, expect, it } from "vitest";
import { ModelsConfig } from "../../../../agent-server/models/models-config.ts";
import type { Candidate, Selection } from "../../../../agent-server/models/provider-selection.ts";
import { RouterConfig } from "../../../../agent-server/models/router/router-config.ts";
import { createTargets, type Wanted } from "../../../../agent-server/models/router/targets.ts";

const models = ModelsConfig.parse({
  active: "work",
  providers: {
    work: { kind: "anthropic", fast: { model: "work-fast" }, deep: { model: "work-deep" } },
    spare: { kind: "openai", fast: { model: "spare-fast" }, deep: { model: "spare-deep" } },
    server: { kind: "openai_compatible", base_url: "http://127.0.0.1:8080/v1", fast: { model: "server-fast" } },
    own: { kind: "local" },
  },
});
const loaded = { config: models, problem: null, isUnknown: false, notices: [], issues: [] };

function candidate(name: string, baseUrl: string): Candidate {
  const config = models.providers[name];
  if (config === undefined) throw new Error(`the test has no provider ${name}`);
  const connection = { kind: config.kind, displayName: name, baseUrl, key: "key", fetch };
  return { name, kind: config.kind, displayName: name, config, hasKey: true, problem: null, connection };
}

/** The provider, model and lane of a target, with `lanes` in router.yaml. */
async function resolve(wanted: Wanted, lanes: object, baseUrl = "http://127.0.0.1:8080/v1") {
  const all: Record<string, Candidate> = {
    work: candidate("work", "https://api.anthropic.com"),
    spare: candidate("spare", "https://api.openai.com/v1"),
    server: candidate("server", baseUrl),
    own: candidate("own", baseUrl),
  };
  const named = (name: string): Promise<Candidate> => {
    const found = all[name];
    return found === undefined ? Promise.reject(new Error(`no provider ${name}`)) : Promise.resolve(found);
  };
  const selection: Selection = {
    candidate: named,
    candidates: () => Promise.resolve(Object.values(all)),
    select: () => named("work"),
    named,
  };
  const targets = createTargets({
    selection,
    listing: { ask: () => Promise.resolve([]), window: () => null, list: () => Promise.resolve({ items: [], providers: [] }) },
    local: { model: () => Promise.reject(new Error("no local model")) },
    chosen: undefined,
  });
  const router = { lanes } as unknown as RouterConfig;
  const target = await targets.resolve(wanted, loaded, router);
  return { provider: target.candidate.name, model: target.profile.model, lane: target.lane };
}

it.each([
  ["a lane's provider", { lane: "local_utility" }, { local_utility: { provider: "work" } }],
  ["a redaction lane's provider", { lane: "local_redaction" }, { local_utility: { provider: "work" } }],
  ["the user's choice", { lane: "local_utility", override: { provider: "spare", lane: "local_utility" } }, {}],
  ["a failover", { lane: "local_utility", provider: "spare" }, {}],
] as const)("a local lane does not leave the machine by %s", async (_, wanted, lanes) => {
  await expect(resolve(wanted, lanes)).rejects.toMatchObject({ code: "unavailable", data: { what: "model" } });
});

describe.each(["server", "own"])("a local lane may use the provider %s", (provider) => {
  it.each([
    ["http://127.0.0.1:8080/v1", true],
    ["http://localhost:8080/v1", true],
    ["http://[::1]:8080/v1", true],
    ["http://10.0.0.7:8080/v1", false],
    ["https://models.example.com/v1", false],
    ["http://127.0.0.1.example.com/v1", false],
    ["http://localhost.example.com/v1", false],
  ])("at %s: %s", async (baseUrl, isAllowed) => {
    const target = resolve({ lane: "local_utility" }, { local_utility: { provider, model: "m" } }, baseUrl);
    if (isAllowed) expect(await target).toMatchObject({ provider, model: "m" });
    else await expect(target).rejects.toMatchObject({ code: "unavailable" });
  });
});

const ofWork = { flagship_fast: { provider: "work", model: "lane-model" } };
const ofActive = { flagship_fast: { model: "lane-model" } };
it.each([
  ["its own provider", { lane: "flagship_fast" }, ofWork, "work/lane-model"],
  ["the active provider", { lane: "flagship_fast" }, ofActive, "work/lane-model"],
  ["an escalation at the active provider", { lane: "flagship_fast", provider: "work" }, ofActive, "work/lane-model"],
  ["a failover", { lane: "flagship_fast", provider: "spare" }, ofWork, "spare/spare-fast"],
  ["a failover from the active provider", { lane: "flagship_fast", provider: "spare" }, ofActive, "spare/spare-fast"],
  ["the user's provider", { lane: "flagship_fast", override: { provider: "spare" } }, ofWork, "spare/spare-fast"],
  [
    "the user's provider instead of the active one",
    { lane: "flagship_fast", override: { provider: "spare" } },
    ofActive,
    "spare/spare-fast",
  ],
  ["the user's choice of its own provider", { lane: "flagship_fast", override: { provider: "work" } }, ofWork, "work/lane-model"],
  ["the user's model", { lane: "flagship_fast", override: { model: "mine" } }, ofWork, "work/mine"],
] as const)("a lane's model is sent to its own provider only: %s", async (_, wanted, lanes, expected) => {
  const { provider, model } = await resolve(wanted, lanes);
  expect(`${provider}/${model}`).toBe(expected);
});
