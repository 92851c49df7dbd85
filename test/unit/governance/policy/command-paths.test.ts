import { describe, expect, it } from "vitest";
import { isGuarded, judgePath } from "../../../../agent-server/governance/policy/commands/command-paths.ts";
import type { PathContext } from "../../../../agent-server/governance/policy/commands/types.ts";
import { literal, unknown } from "../../../../agent-server/governance/policy/commands/shell-fields.ts";
import type { ResolvedPath } from "../../../../agent-server/governance/policy/path-policy.ts";

/** Paths as another system would name them: each leads where it says. */
const context: PathContext = {
  resolve: (path): ResolvedPath => ({
    ok: true,
    absolute: path === "." ? "/w/proj" : path,
    display: path,
    inside: !path.startsWith("/") && !/^[a-z]:/i.test(path),
    type: "directory",
    sensitive: null,
    rule: null,
  }),
  judgeName: null,
  ruleMessage: () => "",
  home: "/h/me",
  cwds: ["."],
  looks: { entries: 1_000, paths: 1_000 },
};

describe("guarded folders", () => {
  it.each([
    "C:\\",
    "c:\\windows",
    "C:\\Windows\\",
    "C:\\Users",
    "d:\\users\\",
    "C:\\Program Files",
    "C:\\Program Files\\",
    "C:\\Program Files (x86)",
    "/",
    "/etc",
    "/opt/",
    "/usr/lib",
    "/var/log",
    "/home/me",
    "/Users/me",
    "/h",
    "/h/me",
    "/w",
    "/w/proj",
  ])("%s", (path) => expect(isGuarded(path, context)).toBe(true));

  it.each([
    "C:\\work",
    "C:\\Windows\\x",
    "xC:\\windows",
    "C:\\Program",
    "1:\\windows",
    "/opt/x",
    "/usr/lib/x",
    "/srv/usr/x",
    "/home/me/x",
    "/h/me/x",
    "/h/you",
    "/w/pro",
    "/w/project",
    "src",
  ])("but not %s", (path) => expect(isGuarded(path, context)).toBe(false));
});

describe("what a path is used for decides", () => {
  const found = (path: string, use: Parameters<typeof judgePath>[1]) =>
    judgePath(literal(path), use, context).map(({ id, verdict }) => `${verdict} ${id}`);

  it.each([
    ["delete-tree", "/w", "deny destroys"],
    ["delete-tree", "/w/proj", "deny destroys"],
    ["change-tree", "/h/me", "deny destroys"],
    ["change-tree", "C:\\Windows", "deny destroys"],
    ["delete-tree", "/etc", "deny destroys"],
    ["delete-tree", "/usr/lib", "deny destroys"],
    ["delete-tree", "/home/you", "deny destroys"],
    ["delete", "/etc", "ask outside-write"],
  ] as const)("%s %s", (use, path, expected) => expect(found(path, use)).toEqual([expected]));

  it("also where it is not known", () => {
    const tree = judgePath(unknown("$x", "/"), "delete-tree", context);
    expect(tree.map(({ id, risk, tier }) => [id, risk, tier])).toEqual([["unknown-tree", "critical", "T3"]]);
    expect(judgePath(unknown("$x", "src/"), "delete-tree", context).map(({ id, risk }) => [id, risk])).toEqual([
      ["unknown-target", "high"],
    ]);
    expect(judgePath(unknown("$x"), "change-tree", context).map(({ id }) => id)).toEqual(["unknown-tree"]);
    expect(judgePath(unknown("$x"), "delete", context).map(({ id }) => id)).toEqual(["unknown-target"]);
    for (const use of ["read", "list", "search", "maybe"] as const)
      expect(judgePath(unknown("$x"), use, context).map(({ id }) => id)).toEqual(["unknown-file"]);
  });
});
