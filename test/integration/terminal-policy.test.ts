import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

const cli = join(import.meta.dirname, "../../agent-server/cli.ts");

let base: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "lancelot-explain-"));
  mkdirSync(join(base, "proj/src"), { recursive: true });
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

function explain(...args: string[]) {
  const place = ["--workspace", join(base, "proj"), "--data", join(base, "data")];
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, "policy", ...args, ...place], { encoding: "utf8" });
  return { status, stdout, stderr };
}

it("reports that an ordinary command runs, and by which rule", () => {
  const { status, stdout } = explain("explain", "git status && npm test");
  expect(stdout).toContain("This command ");
  expect(stdout).toContain("[command.git.read]");
  expect(stdout).toMatch(/allow T2 {2}npm test/);
  expect(status).toBe(stdout.startsWith("This command runs without asking") ? 0 : 1);
});

it("names the denied command inside a wrapper and alternatives, without running it", () => {
  const { status, stdout } = explain("explain", "bash -c 'rm -rf /'");
  expect(status).toBe(1);
  expect(stdout).toContain("This command is denied (T3, critical risk).");
  expect(stdout).toMatch(/deny {2}T3 {2}rm -rf \/ \(in bash -c\)/);
  expect(stdout).toContain("[command.destroys]");
  expect(stdout).toContain("delete_file");
});

it("answers as JSON, for a folder of its own", () => {
  const { status, stdout } = explain("explain", "cat ../.env", "--cwd", "src", "--json");
  const found = JSON.parse(stdout) as { decision: { verdict: string }; parts: { rule: { id: string } }[] };
  expect(status).toBe(1);
  expect(found.decision.verdict).toBe("deny");
  expect(found.parts.map((part) => part.rule.id)).toEqual(["command.secret"]);
});

it("prints its usage", () => {
  const { status, stderr } = explain("explain");
  expect(status).toBe(1);
  expect(stderr).toContain("lancelot policy explain");
});
