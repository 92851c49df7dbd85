import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { lancelot } from "../support/host/terminal.ts";

let base: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "lancelot-explain-"));
  mkdirSync(join(base, "proj/src"), { recursive: true });
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const explain = (...words: string[]) => lancelot(["policy", ...words, "--workspace", join(base, "proj"), "--data", join(base, "data")]);

it("tells that an ordinary command runs, and by which rule", async () => {
  const { status, stdout } = await explain("explain", "git status && npm test");
  expect(stdout).toContain("This command ");
  expect(stdout).toContain("[command.git.read]");
  expect(stdout).toMatch(/allow T2 {2}npm test/);
  expect(status).toBe(stdout.startsWith("This command runs without asking") ? 0 : 1);
});

it("names the denied command inside a wrapper and alternatives, without running it", async () => {
  const { status, stdout } = await explain("explain", "bash -c 'rm -rf /'");
  expect(status).toBe(1);
  expect(stdout).toContain("This command is denied (T3, critical risk).");
  expect(stdout).toMatch(/deny {2}T3 {2}rm -rf \/ \(in bash -c\)/);
  expect(stdout).toContain("[command.destroys]");
  expect(stdout).toContain("delete_file");
});

it("answers as JSON, for a folder of its own", async () => {
  const { status, stdout } = await explain("explain", "cat ../.env", "--cwd", "src", "--json");
  const found = JSON.parse(stdout) as { decision: { verdict: string }; parts: { rule: { id: string } }[] };
  expect(status).toBe(1);
  expect(found.decision.verdict).toBe("deny");
  expect(found.parts.map((part) => part.rule.id)).toEqual(["command.secret"]);
});

it("prints its usage", async () => {
  const { status, stderr } = await explain("explain");
  expect(status).toBe(1);
  expect(stderr).toContain("lancelot policy explain");
});
