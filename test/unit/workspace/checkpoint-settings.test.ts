import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createCheckpointSettings } from "../../../agent-server/workspace/checkpoints/checkpoint-settings.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "lancelot-checkpoint-settings-"));
  mkdirSync(join(root, "config"));
  writeFileSync(join(root, "checkpoints.yaml"), "keep_days: 7\nmax_file_bytes: 1000\n");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it.each([
  ["overrides the shipped one key by key", "keep_days: 30\n", { keep_days: 30, max_file_bytes: 1000 }, 0],
  ["with a wrong value is ignored as a whole", "keep_days: 30\nmax_file_bytes: all\n", { keep_days: 7, max_file_bytes: 1000 }, 1],
  ["with an unknown key is ignored as a whole", "keep_days: 30\nkeep: 1\n", { keep_days: 7, max_file_bytes: 1000 }, 1],
  ["that is no YAML is ignored", "keep_days: [", { keep_days: 7, max_file_bytes: 1000 }, 1],
  ["that is a list is ignored", "- keep_days\n", { keep_days: 7, max_file_bytes: 1000 }, 1],
] as const)("the user's config/checkpoints.yaml %s", (_, text, settings, count) => {
  const problems: string[] = [];
  writeFileSync(join(root, "config/checkpoints.yaml"), text);
  const onProblem = (problem: string) => problems.push(problem);
  expect(createCheckpointSettings({ configDir: root, dataDir: root, onProblem }).read().value).toMatchObject(settings);
  expect(problems).toHaveLength(count);
});
