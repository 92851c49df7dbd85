import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPathPolicy, type PathPolicy, type ResolvedPath } from "../../../agent-server/governance/policy/path-policy.ts";
import { pathCases } from "../../support/path-cases.ts";
import { createPathWorkspace, type PathWorkspace } from "../../support/path-workspace.ts";
import { runs } from "../../support/soak.ts";

let tree: PathWorkspace;
let policy: PathPolicy;

beforeAll(async () => {
  tree = await createPathWorkspace();
  policy = createPathPolicy({ workspace: tree.workspace, dataDir: tree.dataDir, configDir: tree.configDir, home: tree.home });
});
afterAll(() => tree.dispose());

/** How much a verdict holds back; higher is stricter. */
function strictness(resolved: ResolvedPath): number {
  if (!resolved.ok || resolved.type === "other") return 4;
  if (resolved.sensitive === "secret") return 3;
  if (!resolved.inside) return 2;
  return resolved.sensitive === "protected" ? 1 : 0;
}

const names = [
  ...["..", ".", "", "src", "deep", "main.ts", "new", "proj", "proj-evil", "outside", "home", "data", ".env", ".git", ".ssh", "config"],
  ...[
    "link-dir",
    "link-up",
    "link-out-dir",
    "link-parent",
    "link-root",
    "link-workspace",
    "link-ssh",
    "chain-1",
    "dangling-out.txt",
    "loop-a",
  ],
  ...["pipe", "~", "%2e%2e", "..%2f", "C:", "...", "CON", "\u202e", "a\\b", "file:"],
];
const path = fc
  .tuple(
    fc.constantFrom("", "/", "./", "../", "~/", "{workspace}/", "{outside}/"),
    fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 8 }),
  )
  .map(([start, segments]) => start + segments.join("/"));
const anything = fc.oneof(
  path,
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ maxLength: 60 }),
  fc.constantFrom(...pathCases.map((one) => one.input)),
);

describe("whatever a path is made of", () => {
  it("what counts as inside lies below the workspace, without a link or dots left in it", () => {
    fc.assert(
      fc.property(anything, (input) => {
        const resolved = policy.resolve(tree.expand(input));
        if (!resolved.ok || !resolved.inside) return;
        expect(resolved.absolute === tree.workspace || resolved.absolute.startsWith(`${tree.workspace}/`)).toBe(true);
        expect(resolved.absolute.split("/")).not.toContain("..");
        expect(resolved.display.startsWith("/")).toBe(false);
      }),
      { numRuns: runs(750, 3000) },
    );
  });

  it("a resolved path resolves to itself and stays the same", () => {
    fc.assert(
      fc.property(anything, (input) => {
        const resolved = policy.resolve(tree.expand(input));
        if (!resolved.ok) return;
        const again = policy.resolve(resolved.absolute);
        if (!again.ok) throw new Error(`${resolved.absolute} is refused: ${again.rule}`);
        expect(again).toMatchObject({
          absolute: resolved.absolute,
          inside: resolved.inside,
          type: resolved.type,
          display: resolved.display,
        });
        expect(policy.stillSame(resolved)).toBe(true);
        expect(policy.resolve(again.absolute)).toEqual(again);
      }),
      { numRuns: runs(500, 2000) },
    );
  });

  it("going the long way round never lowers the verdict", () => {
    fc.assert(
      fc.property(path, fc.constantFrom("./", "src/../", "link-workspace/", "src/link-up/", "././", "new/../"), (input, detour) => {
        if (/^[/~{]|^[A-Za-z]:|^file:|^$/.test(input)) return;
        expect(strictness(policy.resolve(detour + input))).toBeGreaterThanOrEqual(strictness(policy.resolve(input)));
      }),
      { numRuns: runs(500, 2000) },
    );
  });

  it("writing a sensitive name in other letters never lowers the verdict", () => {
    const sensitive = pathCases.filter(
      (one) => (one.expect === "secret" || one.expect === "protected") && !/[{~]|^\.\.\/|^\/|link|chain|dangling/.test(one.input),
    );
    const spelled = fc
      .constantFrom(...sensitive)
      .chain((one) => fc.tuple(fc.constant(one), fc.array(fc.boolean(), { minLength: one.input.length, maxLength: one.input.length })));
    fc.assert(
      fc.property(spelled, ([one, capitals]) => {
        const input = Array.from(one.input)
          .map((letter, index) => (capitals[index] === true ? letter.toUpperCase() : letter.toLowerCase()))
          .join("");
        expect(strictness(policy.resolve(input))).toBeGreaterThanOrEqual(one.expect === "secret" ? 3 : 1);
      }),
      { numRuns: runs(500, 2000) },
    );
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(typeof policy.resolve(value as string).ok).toBe("boolean");
      }),
      { numRuns: runs(250, 1000) },
    );
  });
});
