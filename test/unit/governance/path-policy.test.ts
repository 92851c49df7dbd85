import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPathPolicy, type PathPolicy, type ResolvedPath } from "../../../agent-server/governance/policy/path-policy.ts";
import { type PathVerdict, pathCases } from "../../support/path-cases.ts";
import { createPathWorkspace, type PathWorkspace } from "../../support/path-workspace.ts";

let tree: PathWorkspace;
let policy: PathPolicy;
let behindLink: PathPolicy;

beforeAll(async () => {
  tree = await createPathWorkspace();
  const { dataDir, configDir, home } = tree;
  policy = createPathPolicy({ workspace: tree.workspace, dataDir, configDir, home });
  behindLink = createPathPolicy({ workspace: tree.workspaceLink, dataDir, configDir, home });
});
afterAll(() => tree.dispose());

function verdict(resolved: ResolvedPath): PathVerdict {
  if (!resolved.ok) return "refused";
  if (resolved.type === "other") return "special";
  if (resolved.rule?.startsWith("own.") === true) return resolved.sensitive === "secret" ? "own-secret" : "own-data";
  if (resolved.sensitive === "secret") return "secret";
  if (!resolved.inside) return resolved.sensitive === "protected" ? "outside-protected" : "outside";
  return resolved.sensitive === "protected" ? "protected" : "ordinary";
}

describe("every way to name a file", () => {
  it("is in the table", () => {
    expect(pathCases.length).toBeGreaterThanOrEqual(180);
    expect(new Set(pathCases.map((one) => one.input)).size).toBe(pathCases.length);
  });

  it.each(pathCases.map((one) => [JSON.stringify(one.input).slice(0, 60), one.why, one] as const))("%s: %s", (_input, _why, one) => {
    const input = tree.expand(one.input);
    for (const each of [policy, behindLink]) {
      const resolved = each.resolve(input);
      expect({ ...resolved, verdict: verdict(resolved) }).toMatchObject({ verdict: one.expect });
      if (!resolved.ok) {
        expect(resolved.rule).toBe(one.rule);
        expect(resolved.message).toMatch(/^[A-Z].*\.$/);
      } else if (one.display !== undefined) {
        expect(resolved.display).toBe(one.display);
      }
    }
  });
});
