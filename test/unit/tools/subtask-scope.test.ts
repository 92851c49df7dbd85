import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SoulScope } from "../../../agent-server/contract/soul.ts";
import { subtaskPaths, subtaskScope } from "../../../agent-server/tools/subtask-scope.ts";
import { createGovernanceFixture, type GovernanceFixture } from "../../support/governance-fixture.ts";

let fixture: GovernanceFixture;
let outside = "";
beforeAll(() => {
  fixture = createGovernanceFixture();
  outside = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-outside-")));
  mkdirSync(join(fixture.workspace, "src/deep"), { recursive: true });
  writeFileSync(join(fixture.workspace, "src/a.ts"), "");
  symlinkSync(outside, join(fixture.workspace, "link"));
  symlinkSync("src/deep", join(fixture.workspace, "alias"));
});
afterAll(() => {
  fixture.dispose();
  rmSync(outside, { recursive: true, force: true });
});
const scopeOf = (allowed?: string[]) => subtaskScope(allowed, fixture);
const all = ["file_ops", "shell_exec", "web_ops.fetch"];

it.each<[string, string[] | undefined, string[], string[] | undefined]>([
  ["nothing", undefined, all, undefined],
  ["a capability", ["file_ops"], ["file_ops"], undefined],
  ["the web, to read", ["web_ops"], ["web_ops.fetch"], undefined],
  ["a folder", ["src"], all, ["src"]],
  ["a folder with a slash", ["src/"], all, ["src"]],
  ["a file and a capability", ["file_ops", "src/a.ts"], ["file_ops"], ["src/a.ts"]],
  ["a new file", ["src/new.ts"], all, ["src/new.ts"]],
  ["a detour", ["src/../src/a.ts"], all, ["src/a.ts"]],
  ["a link within", ["alias"], all, ["src/deep"]],
])("allows what is named: %s", (_what, allowed, capabilities, paths) => {
  const scope = SoulScope.parse(scopeOf(allowed));
  expect(scope).toMatchObject({ level: "supervised", limits: { max_tier: "T2", capabilities } });
  expect(scope.limits?.paths).toEqual(paths);
  // Nothing else, which could widen the soul.
  expect(Object.keys(scope).toSorted()).toEqual(["level", "limits", "name"]);
});

it.each([
  "everything",
  "file_ops.write",
  "repo_ops",
  "memory",
  "quest",
  "deploy_ops",
  "../out",
  "/etc",
  "link/x",
  "no/such/folder/a.ts",
  "new.ts",
])("refuses a name that is neither: %s", (entry) => {
  expect(() => scopeOf(["file_ops", entry])).toThrow(expect.objectContaining({ code: "invalid_params" }));
});

it("names the paths that calls declare, as they are written", () => {
  expect(subtaskPaths({})).toBeNull();
  expect(subtaskPaths({ allowed: ["file_ops"] })).toBeNull();
  expect(subtaskPaths({ allowed: "src" })).toBeNull();
  expect(subtaskPaths({ allowed: ["src/", "./a.ts", "shell_exec", 5] })).toEqual(["src", "a.ts"]);
});
