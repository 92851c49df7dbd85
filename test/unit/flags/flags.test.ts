import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Flag } from "../../../agent-server/contract/flags.ts";
import { createFlags, flagHandlers, type FlagChange, type FlagsDeps, flagNames } from "../../../agent-server/flags/flags.ts";

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

const on = ["SOUL", "SKILLS", "HEALTH_MONITOR", "SCHEDULER", "MEMORY_VNEXT", "TOOLS_FABRIC", "STRUCTURED_OUTPUT", "CLAIM_VERIFICATION"];
const alsoOn = ["UNIFIED_CLASSIFICATION", "PROVIDER_SDK", "GITHUB_SEARCH"];
const off = ["TOOLS_CLI_PROVIDERS", "TOOLS_ANTIGRAVITY", "TOOLS_NETWORK", "TOOLS_HOST_EXECUTION", "COMPETITIVE_SCAN"];
const alsoOff = ["DEEP_REASONING_LOOP", "ANTHROPIC_OAUTH", "GOOGLE_OAUTH"];

describe("what ships", () => {
  it("is nineteen flags with the published defaults, and none for governance", () => {
    const list = open().list();
    expect(list.filter((flag) => flag.default).map(({ name }) => name)).toEqual([...on, ...alsoOn]);
    expect(list.filter((flag) => !flag.default).map(({ name }) => name)).toEqual([...off, ...alsoOff]);
    expect(list.every((flag) => flag.enabled === flag.default && flag.source === "default" && Flag.safeParse(flag).success)).toBe(true);
    expect(flagNames.some((name) => /GOVERN|POLICY|APPROV|RECEIPT|SANITI|REDACT/.test(name))).toBe(false);
  });

  it("says of each in a sentence what it switches", () => {
    for (const { effect } of open().list()) expect(effect).toMatch(/^[A-Z].{20,}\.$/);
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
    ["on", false],
    ["2", false],
    ["truee", false],
    ["", false],
  ])("FEATURE_…=%j means %s", (value, enabled) => {
    const flags = open({ FEATURE_SOUL: value, FEATURE_TOOLS_NETWORK: value });
    expect([flags.enabled("SOUL"), flags.enabled("TOOLS_NETWORK")]).toEqual([enabled, enabled]);
    expect(flags.list().find(({ name }) => name === "SOUL")?.source).toBe("environment");
  });

  it("knows names with the prefix alone, and goes before settings and file", () => {
    write("flags: { SOUL: false, TOOLS_NETWORK: true }\n");
    const flags = open({ SOUL: "false", FEATURE_SOUL: "1" });
    flags.useSettings({ SOUL: false });
    expect(flags.enabled("SOUL")).toBe(true);
    expect(flags.enabled("TOOLS_NETWORK")).toBe(true);
  });
});

describe("switching", () => {
  it("takes effect at once, is told once, and outlives the host", () => {
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
    expect(() => open().set("GOVERNANCE", false)).toThrow(/There is no flag GOVERNANCE/);
    expect(() => open().set("__proto__", true)).toThrow(/There is no flag/);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it("keeps the owner's comments and what else is in the file", () => {
    write("# mine\nversion: '1.0'\nflags:\n  SKILLS: false # not now\n  Future: yes\nother: 1\n");
    open().set("SOUL", false);
    const text = readFileSync(file(), "utf8");
    expect(text).toMatch(/# mine[\s\S]*SKILLS: false # not now[\s\S]*SOUL: false[\s\S]*other: 1/);
  });

  it("of another window shows within a second, without a word from it", () => {
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
  ])("that cannot be understood (%s) changes nothing, is told in the log, and is never overwritten", (_what, text) => {
    write("flags: { SOUL: false }\n");
    const flags = open();
    write(text);
    utimesSync(file(), 1, 1);
    clock += 5_000;
    expect(flags.enabled("SOUL")).toBe(false);
    expect(logged.join()).toContain("cannot be understood");
    expect(() => flags.set("SOUL", true)).toThrow(/Mend it/);
    expect(readFileSync(file(), "utf8")).toBe(text);
    expect(flags.enabled("SOUL")).toBe(false);
  });

  it("leaves out what is no flag or no yes or no", () => {
    write("flags: { SOUL: 'false', NOPE: true, FEATURE_SKILLS: false }\n");
    const flags = open();
    expect([flags.enabled("SOUL"), flags.enabled("SKILLS")]).toEqual([true, false]);
    expect(logged).toHaveLength(2);
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

  it("is listed by the contract's methods as it is", async () => {
    const handlers = flagHandlers(open());
    const call = { owner: true, signal: new AbortController().signal };
    await handlers["flags.set"]({ name: "skills", enabled: false }, call);
    const { items } = await handlers["flags.list"]({}, call);
    expect(items.find(({ name }) => name === "SKILLS")?.enabled).toBe(false);
    expect((await handlers["flags.reload"]({}, call)).items).toHaveLength(19);
  });
});
