import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createConfigFile, loadConfig } from "../../../agent-server/models/models-config.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";

const configDir = join(import.meta.dirname, "../../../config");
const shipped = readFileSync(join(configDir, "models.yaml"), "utf8");

describe("the shipped models.yaml", () => {
  it("is valid, names the four providers with their three profiles and the editor, and chooses none", () => {
    const { config, problem, notices } = loadConfig(shipped, null);
    expect(problem).toBeNull();
    expect(notices).toEqual([]);
    expect(config.active).toBeUndefined();
    expect(config.local).toMatchObject({ enabled: true, model: "auto" });
    expect(Object.entries(config.providers).map(([name, { kind }]) => [name, kind])).toEqual([
      ["anthropic", "anthropic"],
      ["openai", "openai"],
      ["gemini", "gemini"],
      ["xai", "xai"],
      ["editor", "vscode"],
    ]);
    for (const provider of Object.values(config.providers).filter(({ kind }) => kind !== "vscode"))
      for (const lane of ["fast", "deep", "cache"] as const) expect(provider[lane]?.context_window).toBeGreaterThan(100_000);
  });
});

describe("the owner's file over it", () => {
  it("changes what it names and nothing else", () => {
    const { config, problem } = loadConfig(shipped, "active: anthropic\nproviders:\n  anthropic:\n    fast: { max_tokens: 100 }\n");
    expect(problem).toBeNull();
    expect(config.active).toBe("anthropic");
    const plain = loadConfig(shipped, null).config.providers["anthropic"];
    expect(config.providers["anthropic"]).toEqual({ ...plain, fast: { ...plain?.fast, max_tokens: 100 } });
  });

  it("takes the provider of the documented example", () => {
    const example = `
version: "1.0"
active: work                     # LANCELOT_PROVIDER overrides
local: { enabled: true, model: auto }
providers:
  work:
    kind: openai_compatible
    display_name: "Our cluster"
    mode: sdk
    base_url: "http://127.0.0.1:9000/v1"
    fast: { model: some-model, max_tokens: 8192, temperature: 0.3 }
    deep: { model: some-model, max_tokens: 16384, temperature: 0.7, thinking: { enabled: true, budget_tokens: 10000 } }
    cache: { model: some-model, max_tokens: 2048, temperature: 0.1 }
`;
    const { config, problem, notices } = loadConfig(shipped, example);
    expect([problem, notices]).toEqual([null, []]);
    expect(config.providers["work"]).toMatchObject({
      kind: "openai_compatible",
      deep: { thinking: { enabled: true, budget_tokens: 10_000 } },
    });
    expect(Object.keys(config.providers)).toContain("gemini");
  });

  it("drops the window of a shipped model for another one", () => {
    const { config } = loadConfig(shipped, "providers: { openai: { fast: { model: other } } }");
    expect(config.providers["openai"]?.fast).toMatchObject({ model: "other", max_tokens: 16_384 });
    expect(config.providers["openai"]?.fast?.context_window).toBeUndefined();
  });

  it("makes another provider of a shipped name under another kind", () => {
    const yaml = 'providers: { openai: { kind: openai_compatible, base_url: "http://localhost:1/v1", fast: { model: m } } }';
    expect(loadConfig(shipped, yaml).config.providers["openai"]?.deep).toBeUndefined();
  });

  it("is told of settings that do not exist, by line", () => {
    const { notices, problem } = loadConfig(
      shipped,
      "providers:\n  openai:\n    fast:\n      modle: x\n    bas_url: y\nlocal: { modell: z }\n",
    );
    expect(problem).toBeNull();
    expect(notices).toEqual([
      "config/models.yaml, line 6: local.modell is not a setting and has no effect.",
      "config/models.yaml, line 5: providers.openai.bas_url is not a setting and has no effect.",
      "config/models.yaml, line 4: providers.openai.fast.modle is not a setting and has no effect.",
    ]);
  });

  it("may ask for plain requests in place of the SDK", () => {
    const { notices, config } = loadConfig(shipped, "providers:\n  openai: { mode: api }\n");
    expect(config.providers["openai"]?.mode).toBe("api");
    expect(notices).toEqual([]);
  });

  it.each(["", "# nothing but a comment\n", "version: '1.0'\n"])("may say nothing: %j", (yaml) => {
    expect(loadConfig(shipped, yaml).problem).toBeNull();
  });

  it.each([
    ["providers: [", 1, "not YAML"],
    ["a: b\n  c: d\n", 1, "not YAML"],
    ["just words", 1, "must be keys with values"],
    ["active: nobody\n", 1, 'active names "nobody", which is not under providers (anthropic, openai, gemini, xai, editor, local)'],
    ["providers:\n  work:\n    kind: gpt\n    fast: { model: m }\n", 3, "providers.work.kind must be one of gemini, openai"],
    ["providers:\n  work:\n    base_url: 'http://h/v1'\n", 3, "providers.work.kind"],
    ["providers:\n  work: { kind: openai_compatible, fast: { model: m } }\n", 2, "providers.work.base_url is missing"],
    ["providers:\n  work: { kind: xai }\n", 2, "providers.work.fast is missing"],
    [
      "providers:\n  work:\n    kind: openai\n    base_url: 'ftp://h'\n    fast: { model: m }\n",
      4,
      "providers.work.base_url must be an http or https address",
    ],
    [
      "providers:\n  work:\n    kind: openai\n    base_url: 'https://me:secret@h/v1'\n    fast: { model: m }\n",
      4,
      "must not contain a user name or key",
    ],
    ["providers:\n  openai:\n    fast:\n      max_tokens: many\n", 4, "providers.openai.fast.max_tokens must be"],
    ["providers:\n  openai:\n    fast:\n      temperature: 3\n", 4, "providers.openai.fast.temperature must be at most 2"],
    ["providers:\n  openai:\n    api_key_name: my key\n", 3, "providers.openai.api_key_name must be capital letters"],
    ["providers:\n  'a b': { kind: xai, fast: { model: m } }\n", 2, "a b has a name that must be letters"],
    ["local: off\n", 1, "local must be"],
    ["providers: all\n", 1, "providers must be"],
  ])("that is broken is not used, and says where: %j", (yaml, line, said) => {
    const { config, problem } = loadConfig(shipped, yaml);
    expect(problem).toContain(`config/models.yaml in the data folder, line ${line}:`);
    expect(problem).toContain(said);
    expect(problem).toContain("The file has no effect until you correct it.");
    expect(config).toEqual(loadConfig(shipped, null).config);
    expect(problem).not.toContain("secret");
  });

  it("cannot reach into objects of the host or grow without end", () => {
    loadConfig(shipped, "providers:\n  __proto__:\n    kind: xai\n    fast: { model: m }\n");
    expect(Reflect.get({}, "kind")).toBeUndefined();
    const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${Array.from("bcdefghi")
      .map((name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${"abcdefgh"[index]}`).join(", ")}]`)
      .join("\n")}\n`;
    expect(loadConfig(shipped, bomb).problem).toContain("alias");
  });
});

describe("the file on disk", () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "lancelot-config-"));
  });
  afterEach(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });
  const path = (): string => join(dataDir, "config", "models.yaml");
  const write = (text: string): void => {
    mkdirSync(join(dataDir, "config"), { recursive: true });
    writeFileSync(path(), text);
  };

  it("is made by the first choice", () => {
    const file = createConfigFile({ configDir, dataDir });
    file.choose("openai", { name: "gpt-x", contextWindow: 64_000 });
    expect(file.read()).toMatchObject({ problem: null, config: { active: "openai" } });
    expect(file.read().config.providers["openai"]).toMatchObject({
      fast: { model: "gpt-x", context_window: 64_000, max_tokens: 16_384 },
      deep: { model: "gpt-x", context_window: 64_000, thinking: { enabled: true } },
      cache: { model: "gpt-6-luna" },
    });
    expect(readdirSync(join(dataDir, "config"))).toEqual(["models.yaml"]);
  });

  it("keeps the owner's comments, order and other settings", () => {
    write("# mine\nproviders:\n  openai:\n    fast: { model: a, context_window: 5000 } # quick\n# end\nactive: xai # for now\n");
    createConfigFile({ configDir, dataDir }).choose("openai", { name: "b", contextWindow: null });
    expect(readFileSync(path(), "utf8")).toBe(
      "# mine\nproviders:\n  openai:\n    fast: { model: b } # quick\n    deep:\n      model: b\n# end\nactive: openai # for now\n",
    );
  });

  it("can be chosen in when it is empty, or holds empty keys", () => {
    for (const text of ["", "# only words\n", "providers:\n", "providers:\n  openai:\n"]) {
      write(text);
      const file = createConfigFile({ configDir, dataDir });
      file.choose("openai", { name: "b", contextWindow: null });
      expect(file.read().config).toMatchObject({ active: "openai", providers: { openai: { fast: { model: "b" } } } });
    }
  });

  it("is not written over while it is broken", () => {
    write("active: [\n");
    const file = createConfigFile({ configDir, dataDir });
    expect(() => file.choose("openai", undefined)).toThrow(LancelotError);
    expect(readFileSync(path(), "utf8")).toBe("active: [\n");
  });

  it("is read again when it changed, and only then", () => {
    const file = createConfigFile({ configDir, dataDir });
    const before = file.read();
    expect(file.read()).toBe(before);
    write("active: xai\n");
    expect(file.read().config.active).toBe("xai");
    writeFileSync(path(), "active: openai\n");
    utimesSync(path(), new Date(), new Date(Date.now() + 5000));
    expect(file.read().config.active).toBe("openai");
    rmSync(path());
    expect(file.read().config.active).toBeUndefined();
    expect(existsSync(path())).toBe(false);
  });
});
