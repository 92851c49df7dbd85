import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parsePathRules } from "../../agent-server/governance/policy/path-table.ts";
import { readSoul } from "../../agent-server/governance/soul/soul-document.ts";
import { parseSoulTerms } from "../../agent-server/governance/soul/soul-terms.ts";
import { parseSanitizer } from "../../agent-server/security/sanitizer.ts";
import { parseShipped, shippedValue } from "../../agent-server/shipped-yaml.ts";

const root = join(import.meta.dirname, "../..");
const tables = ["config", "soul"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => join(folder, name)),
);

describe("the tables that the build parses", () => {
  it.each(tables)("%s is the same as JSON", (name) => {
    const text = readFileSync(join(root, name), "utf8");
    const value: unknown = parse(text);
    expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value);
    // Without a build there is none; npm test always has one.
    expect(shippedValue(text) ?? value).toStrictEqual(value);
  });

  // A comment makes each text another one than the shipped, so that it is read in full.
  it.each<[string, string, (text: string) => unknown]>([
    ["the soul has no issue", "soul/soul_versions/soul_v1.yaml", (text) => readSoul(text).issues],
    ["the path rules pass their examples", "config/paths.yaml", (text) => parsePathRules(text).judge("a/b", "b")],
    ["the terms of a soul pass theirs", "config/governance.yaml", (text) => parseSoulTerms(text) && []],
    ["the rules for injected instructions pass theirs", "config/sanitizer.yaml", (text) => parseSanitizer(text).inspect("Hello.").findings],
  ])("as a start takes for granted, %s", (_what, name, problemsOf) => {
    const text = `${readFileSync(join(root, name), "utf8")}\n# Changed\n`;
    expect(shippedValue(text)).toBeUndefined();
    expect(problemsOf(text)).toEqual([]);
  });

  it("a text that was not shipped is parsed here", () => {
    expect(shippedValue("a: 1\n")).toBeUndefined();
    expect(parseShipped("a: 1\n")).toEqual({ value: { a: 1 }, shipped: false });
  });

  it("aliases are refused unless they are asked for", () => {
    const text = "a: &one [1]\nb: *one\n";
    expect(() => parseShipped(text)).toThrow();
    expect(parseShipped(text, 100).value).toEqual({ a: [1], b: [1] });
  });
});
