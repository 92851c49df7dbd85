import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readSoul } from "../../agent-server/governance/soul/soul-document.ts";
import { parseShipped, shippedValue } from "../../agent-server/shipped-yaml.ts";

const root = join(import.meta.dirname, "../..");
const tables = ["config", "soul"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => join(folder, name)),
);

describe("the tables that the build parses", () => {
  it.each(tables)("%s is the same as JSON", (name) => {
    const value: unknown = parse(readFileSync(join(root, name), "utf8"));
    expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value);
  });

  it("the shipped soul has no issue, which a start takes for granted", () => {
    expect(readSoul(readFileSync(join(root, "soul/soul_versions/soul_v1.yaml"), "utf8")).issues).toEqual([]);
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
