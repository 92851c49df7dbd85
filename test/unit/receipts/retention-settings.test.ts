import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { RetentionSettings } from "../../../agent-server/receipts/retention-settings.ts";
import { createLayeredConfig } from "../../../agent-server/storage/storage.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "lancelot-settings-"));
  mkdirSync(join(root, "shipped"));
  mkdirSync(join(root, "data/config"), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const read = (shipped: string | null, owner: string | null, configDir: string | null = join(root, "shipped")) => {
  if (shipped !== null) writeFileSync(join(root, "shipped/receipts.yaml"), shipped);
  if (owner !== null) writeFileSync(join(root, "data/config/receipts.yaml"), owner);
  return load(configDir);
};
const load = (configDir: string | null) => {
  const file = createLayeredConfig({ configDir, dataDir: join(root, "data"), name: "receipts.yaml", schema: RetentionSettings });
  const { value: settings, problem } = file.read();
  return { settings, problem };
};
const ofCode = { version: 1, keep_days: 180, segment_entries: 50_000, max_bytes: 2_000_000_000 };

it("are those that ship", () => {
  expect(load(join(import.meta.dirname, "../../../config"))).toEqual({ settings: ofCode, problem: null });
});

it("are those of the code without any file", () => {
  expect(read(null, null)).toEqual({ settings: ofCode, problem: null });
  expect(read(null, null, null)).toEqual({ settings: ofCode, problem: null });
});

it("are the owner's, laid over those that ship key by key", () => {
  expect(read("keep_days: 5\nmax_bytes: 7\n", "keep_days: 9\n")).toEqual({
    settings: { ...ofCode, keep_days: 9, max_bytes: 7 },
    problem: null,
  });
});

it("stay as they are for a file with nothing in it", () => {
  expect(read("keep_days: 5\n", "# nothing yet\n")).toEqual({ settings: { ...ofCode, keep_days: 5 }, problem: null });
});

it.each([
  ["an unknown name", "keep_day: 5\n", /line 1: .*keep_day;/],
  ["a value that is none", "keep_days: soon\n", /line 1: keep_days /],
  ["a value out of range", "segment_entries: 99\n", /line 1: segment_entries /],
  ["a time of nothing", "keep_days: 0\n", /line 1: keep_days /],
  ["a size below nothing", "max_bytes: -1\n", /line 1: max_bytes /],
  ["a list", "- 5\n", /line 1: the file/],
  ["a text", "hello\n", /line 1: the file/],
  ["no YAML", "a: b: c: [\n", /^[^\n]+\.$/],
])("stay those before it for the owner's file with %s, which is said", (_, text, message) => {
  const { settings, problem } = read("keep_days: 5\n", text);
  expect(settings).toEqual({ ...ofCode, keep_days: 5 });
  expect(problem).toContain("config/receipts.yaml");
  expect(problem).toMatch(message);
});

it.each([
  ["segment_entries: 100\nkeep_days: 1\nmax_bytes: 0\n", { segment_entries: 100, keep_days: 1, max_bytes: 0 }],
  ["segment_entries: 1000000\nkeep_days: 36500\n", { segment_entries: 1_000_000, keep_days: 36_500 }],
])("may be as small and as large as %j", (text, expected) => {
  expect(read(null, text)).toEqual({ settings: { ...ofCode, ...expected }, problem: null });
});
