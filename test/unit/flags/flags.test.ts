import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Flag } from "../../../agent-server/contract/flags.ts";
import { createFlags, flagHandlers, type FlagChange, type FlagName, type FlagsDeps, flagNames } from "../../../agent-server/flags/flags.ts";
import { flagTable, implementedFlags } from "../../../agent-server/flags/table.ts";

let dataDir: string;
let clock: number;
let changes: FlagChange[];
let logged: string[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-flags-"));
  clock = 1_000_000;
  changes = [];
  logged = [];
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const open = (env: FlagsDeps["env"] = {}) =>
  createFlags({ dataDir, env, now: () => clock, onChange: (change) => changes.push(change), log: (message) => logged.push(message) });
const file = () => join(dataDir, "config/flags.yaml");
const write = (text: string) => {
  mkdirSync(join(dataDir, "config"), { recursive: true });
  writeFileSync(file(), text);
};

describe("the shipped table", () => {
  const defaults = (enabled: boolean) => flagNames.filter((name) => flagTable[name].default === enabled);

  it("has the published flags and defaults, and none for governance", () => {
    expect(defaults(true)).toEqual([
      ...["SOUL", "SKILLS", "HEALTH_MONITOR", "SCHEDULER", "MEMORY_VNEXT", "TOOLS_FABRIC", "STRUCTURED_OUTPUT", "CLAIM_VERIFICATION"],
      ...["UNIFIED_CLASSIFICATION", "PROVIDER_SDK", "GITHUB_SEARCH"],
    ]);
    expect(defaults(false)).toEqual([
      ...["TOOLS_CLI_PROVIDERS", "TOOLS_ANTIGRAVITY", "TOOLS_NETWORK", "TOOLS_HOST_EXECUTION", "COMPETITIVE_SCAN"],
      ...["DEEP_REASONING_LOOP", "ANTHROPIC_OAUTH", "GOOGLE_OAUTH"],
    ]);
    expect(flagNames.some((name) => /GOVERN|POLICY|APPROV|RECEIPT|SANITI|REDACT/.test(name))).toBe(false);
  });

  it("lists the implemented flags with their defaults and effects", () => {
    const list = open().list();
    expect(list.map(({ name }) => name)).toEqual(flagNames.filter((name) => flagTable[name].effect !== null));
    for (const flag of list) {
      expect(Flag.safeParse(flag).success).toBe(true);
      expect(flag).toMatchObject({ enabled: flag.default, source: "default", effect: expect.stringMatching(/^[A-Z].{20,}\.$/) as string });
    }
  });
});

describe.each(flagNames.filter((name) => flagTable[name].effect === null))("%s, which nothing implements", (name) => {
  it("is off in every source, and cannot be set", () => {
    write(`flags: { ${name}: true }\n`);
    const flags = open({ [`FEATURE_${name}`]: "true" });
    flags.useSettings({ [name]: true });
    expect(flags.enabled(name)).toBe(false);
    expect(flags.list().map((flag) => flag.name)).not.toContain(name);
    expect(() => flags.set(name, true)).toThrow(expect.objectContaining({ code: "unavailable" }));
  });
});

describe("the environment", () => {
  it.each([
    ["true", true],
    ["TRUE", true],
    ["True", true],
    ["1", true],
    ["yes", true],
    ["YES", true],
    [" yes ", true],
    ["false", false],
    ["0", false],
    ["no", false],
    ["off", false],
    ["False\n", false],
  ])("FEATURE_…=%j means %s", (value, enabled) => {
    const flags = open({ FEATURE_SOUL: value, FEATURE_TOOLS_NETWORK: value });
    expect([flags.enabled("SOUL"), flags.enabled("TOOLS_NETWORK")]).toEqual([enabled, enabled]);
    expect(flags.list().find(({ name }) => name === "SOUL")?.source).toBe("environment");
  });

  it.each(["", " ", "\t", "\r\n", "\u00a0", "\ufeff", "\u200b", " \u2060\u200d "])(
    "FEATURE_…=%j is unset: settings and file count",
    (value) => {
      write("flags: { TOOLS_FABRIC: false }\n");
      const flags = open({ FEATURE_SOUL: value, FEATURE_TOOLS_NETWORK: value, FEATURE_TOOLS_FABRIC: value, FEATURE_MEMORY_VNEXT: value });
      flags.useSettings({ TOOLS_NETWORK: true });
      expect(["SOUL", "MEMORY_VNEXT", "TOOLS_NETWORK", "TOOLS_FABRIC"].map((name) => flags.enabled(name as FlagName))).toEqual([
        ...[true, true, true, false],
      ]);
      expect(flags.list().find(({ name }) => name === "SOUL")?.source).toBe("default");
      expect([flags.problems(), logged]).toEqual([[], []]);
    },
  );

  it.each([
    "on",
    "2",
    "truee",
    "treu",
    "'true'",
    '"false"',
    "true;",
    "yes please",
    "null",
    "disabled",
    "-1",
    "1.0",
    "t",
    "n",
    "\u0000",
    "x".repeat(9999),
  ])("FEATURE_…=%j is no value: the shipped default applies and the problem is named", (value) => {
    const flags = open({ FEATURE_SOUL: value, FEATURE_TOOLS_HOST_EXECUTION: value });
    flags.useSettings({ SOUL: false, TOOLS_HOST_EXECUTION: true });
    expect([flags.enabled("SOUL"), flags.enabled("TOOLS_HOST_EXECUTION")]).toEqual([true, false]);
    expect(flags.list().find(({ name }) => name === "SOUL")?.source).toBe("default");
    expect(flags.problems().map((problem) => /FEATURE_(\w+)/.exec(problem)?.[1])).toEqual(["SOUL", "TOOLS_HOST_EXECUTION"]);
    expect(flags.problems().every((problem) => problem.length < 250)).toBe(true);
    expect(logged).toEqual(flags.problems());
  });

  it("that is mended is no problem after the flags are read again", () => {
    const env: Record<string, string> = { FEATURE_SOUL: "fasle" };
    const flags = open(env);
    env["FEATURE_SOUL"] = "false";
    flags.reload();
    expect([flags.enabled("SOUL"), flags.problems()]).toEqual([false, []]);
  });

  it("knows names with the prefix alone, and goes before settings and file", () => {
    write("flags: { SOUL: false, TOOLS_NETWORK: true }\n");
    const flags = open({ SOUL: "false", FEATURE_SOUL: "1" });
    flags.useSettings({ SOUL: false });
    expect(flags.enabled("SOUL")).toBe(true);
    expect(flags.enabled("TOOLS_NETWORK")).toBe(true);
  });
});

describe("setting a flag", () => {
  it("takes effect at once, reports one change, and outlives the host", () => {
    const flags = open();
    expect(flags.set("TOOLS_FABRIC", false)).toMatchObject({ name: "TOOLS_FABRIC", enabled: false, default: true, source: "setting" });
    expect(flags.enabled("TOOLS_FABRIC")).toBe(false);
    flags.set("TOOLS_FABRIC", false);
    expect(changes).toEqual([{ name: "TOOLS_FABRIC", enabled: false, source: "setting", by: "set" }]);
    expect(open().enabled("TOOLS_FABRIC")).toBe(false);
    expect(readFileSync(file(), "utf8")).toContain("TOOLS_FABRIC: false");
    expect(readdirSync(join(dataDir, "config"))).toEqual(["flags.yaml"]);
  });

  it("wins over the environment until the flags are read again", () => {
    const env: Record<string, string> = { FEATURE_SOUL: "true" };
    const flags = open(env);
    flags.set("FEATURE_SOUL", false);
    expect(flags.enabled("SOUL")).toBe(false);
    expect(flags.reload().find(({ name }) => name === "SOUL")).toMatchObject({ enabled: true, source: "environment" });
    delete env["FEATURE_SOUL"];
    expect(flags.reload().find(({ name }) => name === "SOUL")).toMatchObject({ enabled: false, source: "setting" });
  });

  it("refuses a name it does not know, and leaves no file", () => {
    expect(() => open().set("GOVERNANCE", false)).toThrow(expect.objectContaining({ code: "not_found" }));
    expect(() => open().set("__proto__", true)).toThrow(expect.objectContaining({ code: "not_found" }));
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it("keeps the owner's comments and other entries", () => {
    write("# mine\nversion: '1.0'\nflags:\n  SKILLS: false # not now\n  Future: yes\nother: 1\n");
    open().set("SOUL", false);
    const text = readFileSync(file(), "utf8");
    expect(text).toMatch(/# mine[\s\S]*SKILLS: false # not now[\s\S]*SOUL: false[\s\S]*other: 1/);
  });

  it("in another window shows within a second, without an event", () => {
    const here = open();
    open().set("SOUL", false);
    clock += 999;
    expect(here.enabled("SOUL")).toBe(true);
    clock += 2;
    expect(here.enabled("SOUL")).toBe(false);
    expect(changes.at(-1)).toMatchObject({ name: "SOUL", by: "reload" });
  });
});

describe("the owner's file", () => {
  it.each([
    ["no YAML", "flags: [}"],
    ["a list", "- SOUL"],
    ["a text", "hello"],
  ])("that is invalid (%s) changes nothing, is logged, and is never overwritten", (_what, text) => {
    write("flags: { SOUL: false }\n");
    const flags = open();
    write(text);
    utimesSync(file(), 1, 1);
    clock += 5_000;
    expect(flags.enabled("SOUL")).toBe(false);
    expect(logged).toHaveLength(1);
    expect(flags.configProblem()).not.toBeNull();
    expect(() => flags.set("SOUL", true)).toThrow(expect.objectContaining({ code: "conflict" }));
    expect(readFileSync(file(), "utf8")).toBe(text);
    expect(flags.enabled("SOUL")).toBe(false);
  });

  it("ignores unknown names, and names them with their lines", () => {
    write("flags:\n  NOPE: true\n  FEATURE_TOOLS_FABRIC: false\n");
    const flags = open();
    expect([flags.enabled("SOUL"), flags.enabled("TOOLS_FABRIC")]).toEqual([true, false]);
    expect(flags.configProblem()).toMatch(/line 2: NOPE/);
    expect(logged).toHaveLength(1);
    write("flags: { SOUL: , TOOLS_FABRIC: false }\n");
    expect([flags.reload().find(({ name }) => name === "SOUL")?.source, flags.configProblem()]).toEqual(["default", null]);
  });

  it("with a value that is not a boolean keeps the last valid values, in the next host too", () => {
    write("flags: { SOUL: true, MEMORY_VNEXT: false }\n");
    expect(open().enabled("MEMORY_VNEXT")).toBe(false);
    write("flags: { SOUL: 'false', MEMORY_VNEXT: no }\n");
    const flags = open();
    expect([flags.enabled("SOUL"), flags.enabled("MEMORY_VNEXT")]).toEqual([true, false]);
    expect(flags.configProblem()).toMatch(/config\/flags\.yaml.*line 1: SOUL/);
    write("flags: { MEMORY_VNEXT: true }\n");
    expect([open().enabled("MEMORY_VNEXT"), open().configProblem()]).toEqual([true, null]);
  });
});

describe("the editor's settings", () => {
  it("go before the file and are dropped when the owner clears them", () => {
    write("flags: { SOUL: true }\n");
    const flags = open();
    flags.useSettings({ SOUL: false });
    expect(flags.list().find(({ name }) => name === "SOUL")).toMatchObject({ enabled: false, source: "setting" });
    flags.useSettings({});
    expect(flags.enabled("SOUL")).toBe(true);
    expect(changes.map(({ by }) => by)).toEqual(["settings", "settings"]);
  });
});

describe("a subsystem that is off", () => {
  it("is refused with the flag in the error", () => {
    const flags = open({ FEATURE_TOOLS_FABRIC: "no" });
    expect(() => flags.require("TOOLS_FABRIC")).toThrow(expect.objectContaining({ code: "disabled", data: { flag: "TOOLS_FABRIC" } }));
    expect(() => flags.require("SOUL")).not.toThrow();
  });

  it("is listed with its current value by the contract's methods", async () => {
    const handlers = flagHandlers(open());
    const call = { owner: true, signal: new AbortController().signal };
    await handlers["flags.set"]({ name: "tools_fabric", enabled: false }, call);
    const { items } = await handlers["flags.list"]({}, call);
    expect(items.find(({ name }) => name === "TOOLS_FABRIC")?.enabled).toBe(false);
    expect((await handlers["flags.reload"]({}, call)).items).toHaveLength(implementedFlags.length);
  });
});
