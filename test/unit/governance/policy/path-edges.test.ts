import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { refuseText, refuseWindows } from "../../../../agent-server/governance/policy/path-syntax.ts";
import { forms, parsePathRules } from "../../../../agent-server/governance/policy/path-table.ts";
import { isSameEntry, walk } from "../../../../agent-server/governance/policy/path-resolution.ts";
import { createPathPolicy, type PathPolicyDeps } from "../../../../agent-server/governance/policy/path-policy.ts";

const configDir = join(import.meta.dirname, "../../../../config");
let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-edges-")));
  mkdirSync(join(base, "proj/src"), { recursive: true });
  mkdirSync(join(base, "home"));
  mkdirSync(join(base, "data"));
  put("proj/src/a.ts");
  put("proj/src/b.ts");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(name: string, text = "x"): void {
  mkdirSync(join(base, name, ".."), { recursive: true });
  writeFileSync(join(base, name), text);
}
const policyOf = (more: Partial<PathPolicyDeps> = {}) =>
  createPathPolicy({ workspace: join(base, "proj"), dataDir: join(base, "data"), configDir, home: join(base, "home"), ...more });

describe("whose a file is", () => {
  it.each([
    ["config", "own.data"],
    ["config/models.yaml", "own.data"],
    ["soul", "own.data"],
    ["SOUL/ACTIVE", "own.secret"],
    ["USER.md", "own.data"],
    ["MY_NOTES.md", "own.data"],
    ["", "own.data"],
    ["configs", "own.secret"],
    ["my-config/x", "own.secret"],
    ["a/config", "own.secret"],
    ["a/USER.md", "own.secret"],
    ["xUSER.md", "own.secret"],
    ["USER.md.bak", "own.secret"],
    ["USERxmd", "own.secret"],
    ["user.md", "own.secret"],
  ])("of the data folder's %j: %s", (name, rule) => {
    expect(policyOf().resolve(join(base, "data", name))).toMatchObject({ rule, sensitive: rule === "own.data" ? "protected" : "secret" });
    expect(policyOf({ workspace: join(base, "data") }).resolve(name === "" ? "." : name)).toMatchObject({ inside: true, rule });
  });

  it("of the folders that ship: never a tool's to write, in whatever letters, also inside the workspace", () => {
    const own = { sensitive: "protected", rule: "own.data" };
    mkdirSync(join(base, "lancelot/config/sub"), { recursive: true });
    for (const name of ["paths.yaml", "commands/x.yaml"]) put(`lancelot/config/${name}`);
    put(
      "lancelot/config/paths.yaml",
      "version: 1\nrules: [{ id: secret.x, sensitive: secret, message: M., paths: ['**/x'], match: [x], not_match: [y] }]",
    );
    const shipped = { configDir: join(base, "lancelot/config") };
    const resolve = (path: string, more: Partial<PathPolicyDeps> = {}) => policyOf({ ...shipped, ...more }).resolve(join(base, path));
    for (const path of ["lancelot/config", "lancelot/config/new.yaml", "lancelot/CONFIG/paths.yaml", "lancelot/soul/soul_v1.yaml"])
      expect(resolve(path)).toMatchObject(own);
    expect(resolve("lancelot/other")).toMatchObject({ sensitive: null });
    // A workspace around them does not make them the project's; one below them is the project's own.
    expect(resolve("lancelot/config/new.yaml", { workspace: join(base, "lancelot") })).toMatchObject({ inside: true, ...own });
    const below = { workspace: join(base, "lancelot/config/sub") };
    expect(resolve("lancelot/config/sub/new.ts", below)).toMatchObject({ inside: true, sensitive: null });
    expect(resolve("lancelot/config/new.yaml", below)).toMatchObject({ inside: false, ...own });
    expect(resolve("lancelot/config", { workspace: join(base, "lancelot/config") })).toMatchObject({ inside: true, ...own });
  });
});

describe("what is sensitive about a file", () => {
  it("is its strictest rule, where what it contains decides among them", () => {
    put("proj/.husky/a.pem", "-----BEGIN PRIVATE KEY-----");
    put("proj/.husky/b.pem", "-----BEGIN CERTIFICATE-----");
    expect(policyOf().resolve(".husky/a.pem")).toMatchObject({ sensitive: "secret", rule: "secret.private-key" });
    expect(policyOf().resolve(".husky/b.pem")).toMatchObject({ sensitive: "protected", rule: "protected.hooks" });
    expect(policyOf().resolve("src/aux.ts")).toMatchObject({ sensitive: "protected", rule: "name.portable" });
    put("proj/src/con.ts");
    expect(policyOf().resolve("src/con.ts")).toMatchObject({ sensitive: null, rule: null });
  });

  it("is not what stands somewhere in a name that looks like an address", () => {
    put("proj/my-file:notes");
    for (const path of ["my-file:notes", "see https://example.com", "a file:///x"])
      expect(policyOf().resolve(path)).toMatchObject({ ok: true, inside: true });
  });

  it("is that of the name that was asked for, by either name of the workspace", () => {
    symlinkSync("proj", join(base, "link"));
    symlinkSync("src/a.ts", join(base, "proj/.gitmodules"));
    for (const workspace of ["proj", "link"]) {
      const policy = policyOf({ workspace: join(base, workspace) });
      for (const path of [".gitmodules", join(base, "proj/.gitmodules"), join(base, workspace, ".gitmodules")])
        expect(policy.resolve(path)).toMatchObject({ display: "src/a.ts", sensitive: "protected" });
    }
    expect(policyOf({ workspace: null }).resolve(join(base, "proj/.gitmodules"))).toMatchObject({ sensitive: "protected", inside: false });
  });

  it("cannot be said of what is no text", () => {
    expect(policyOf().resolve(7 as never)).toEqual({ ok: false, rule: "path.unresolvable", message: "The path cannot be resolved." });
  });

  it("is found out without leaving files open", () => {
    put("proj/a.pem", "no key");
    const policy = policyOf();
    const open = () => readdirSync("/proc/self/fd").length;
    if (process.platform !== "linux") return;
    policy.resolve("a.pem");
    const before = open();
    for (let index = 0; index < 20; index += 1) policy.resolve("a.pem");
    expect(open()).toBeLessThan(before + 10);
  });
});

describe("what stays the same", () => {
  it("is not a file that became a link to another one of the workspace", () => {
    const policy = policyOf();
    const before = policy.resolve("src/a.ts");
    rmSync(join(base, "proj/src/a.ts"));
    symlinkSync("b.ts", join(base, "proj/src/a.ts"));
    expect(policy.resolve("src/a.ts")).toMatchObject({ display: "src/b.ts", type: "file" });
    expect(policy.stillSame(before)).toBe(false);
  });

  it("is a name with a tilde that is no home folder", () => {
    put("proj/~\\notes.txt");
    expect(policyOf().resolve("~\\notes.txt")).toMatchObject({ ok: true, inside: true });
    put("proj/~x/a");
    expect(policyOf().resolve("~x/a")).toMatchObject({ inside: true, display: "~x/a" });
  });
});

describe("where the system would end up", () => {
  const at = (name: string) => join(base, name);
  /** `name`0 to the last: links, each to the next; the last to a file. */
  function chain(name: string, length: number): void {
    for (let index = 0; index < length; index += 1)
      symlinkSync(index + 1 === length ? "src/a.ts" : `${name}${index + 1}`, at(`proj/${name}${index}`));
  }

  it("is at the end of forty links, not of more", () => {
    chain("ok", 40);
    chain("long", 41);
    expect(walk(`${at("proj")}/src/../ok0`)).toEqual({ ok: true, absolute: at("proj/src/a.ts"), type: "file", missing: "" });
    expect(walk(`${at("proj")}/src/../long0`)).toMatchObject({ ok: false, rule: "path.loop" });
    expect(walk(at("proj/ok0"))).toMatchObject({ ok: true, type: "file" });
  });

  it.each<[string, object]>([
    ["proj/src", { type: "directory", missing: "" }],
    ["proj/src/", { type: "directory", missing: "" }],
    ["proj/src/a.ts", { type: "file", missing: "" }],
    ["proj/src/../src//./a.ts", { type: "file", missing: "" }],
    ["proj/new", { type: "missing", missing: "new" }],
    ["proj/new/deep/x", { type: "missing", missing: "new/deep/x" }],
    ["proj/src/../new/./x", { type: "missing", missing: "new/x" }],
    ["proj/new/../other", { type: "missing", missing: "other" }],
    ["proj/into", { type: "missing", missing: "gone" }],
    ["proj/src/../into", { type: "missing", missing: "gone" }],
    ["proj/outside/x", { type: "missing", missing: "x" }],
  ])("for %s", (path, expected) => {
    symlinkSync("src/gone", at("proj/into"));
    symlinkSync(at("home"), at("proj/outside"));
    expect(walk(`${base}/${path}`)).toMatchObject({ ok: true, ...expected });
  });

  it.each(["proj/src/a.ts/x", "proj/src/a.ts/..", "proj/src/a.ts/../b.ts", "proj/src/../src/a.ts/"])(
    "is nowhere beyond a file: %s",
    (path) => {
      expect(walk(`${base}/${path}`)).toMatchObject({ ok: false, rule: "path.not-a-folder" });
    },
  );

  it("is the root for the root, and cannot be told for what no system takes", () => {
    expect(walk("/")).toEqual({ ok: true, absolute: "/", type: "directory", missing: "" });
    expect(walk("/../..")).toEqual({ ok: true, absolute: "/", type: "directory", missing: "" });
    expect(walk("a\0b")).toEqual({ ok: false, rule: "path.unresolvable", message: "The system cannot resolve this path." });
    expect(walk(`${base}/${"n".repeat(300)}`)).toEqual({ ok: false, rule: "path.long", message: "The path is too long." });
  });

  it("is the same entry for two names of one file, and for no others", () => {
    symlinkSync("src", at("proj/link"));
    expect(isSameEntry(at("proj/src"), at("proj/link"))).toBe(true);
    expect(isSameEntry(at("proj/src"), at("proj"))).toBe(false);
    expect(isSameEntry(at("proj/src"), at("nowhere"))).toBe(false);
    expect(isSameEntry(at("nowhere"), at("nowhere"))).toBe(false);
  });
});

describe("the forms of a name", () => {
  it.each([
    ["a%62", ["a%62", "ab"]],
    ["%zz", ["%zz"]],
    ["%2541", ["%2541", "a"]],
    ["%2525252541", ["%2525252541", "a"]],
    ["%252525252541", ["%252525252541", "%41"]],
    ["//a/b", ["a/b"]],
    ["///a", ["a"]],
    ["a/c:", ["a/c"]],
    ["ab:/x", ["ab/x"]],
    ["c:/x", ["c:/x"]],
    [" a /b", ["a/b"]],
    ["a /b", ["a/b"]],
    ["a\\b%5cc", ["a/b%5cc", "a/b/c"]],
    ["x/.a.swp", ["x/.a.swp", "x/a"]],
    ["x/a.bak", ["x/a.bak", "x/a"]],
    ["x/a (12)", ["x/a (12)", "x/a"]],
    ["x/a_copy", ["x/a_copy", "x/a"]],
    ["a\u200db", ["ab"]],
    ["ſſ", ["ss"]],
    ["...", ["..."]],
    ["a...", ["a"]],
  ])("%s", (path, expected) => {
    expect(forms(path)).toEqual(expected);
  });
});

describe("the globs of the rule table", () => {
  const rule = (paths: string, more = "") =>
    parsePathRules(
      `version: 1\nrules: [{ id: secret.x, sensitive: secret, message: M., paths: [${paths}]${more}, match: ["h/x"], not_match: [nothing-of-it] }]`,
    );

  it("match hidden names, and mean their signs as they stand", () => {
    expect(rule("'**/x'").judge(".h/.g/x", "r")).toHaveLength(1);
    expect(rule("'**/x', '!**/y'").judge("h/z", "r")).toEqual([]);
    expect(rule("'**/x', '@(a|b)'").judge("a", "r")).toEqual([]);
    expect(rule("'**/x', '**/z'").judge("h/z", "r")).toHaveLength(1);
  });

  it("may ask for a line of the file", () => {
    const [verdict] = rule("'**/x'", ", content: '^key'").judge("h/x", "r");
    expect([verdict?.content?.test("a\nkey"), verdict?.content?.test("a key")]).toEqual([true, false]);
  });

  it("are repeated by a name a few times only", () => {
    const many = Array.from({ length: 20 }, () => "*m").join();
    const text = `version: 1\nrules: [{ id: secret.x, sensitive: secret, message: &m M., paths: ['**/x'], match: [x], not_match: [${many}] }]`;
    expect(() => parsePathRules(text)).toThrow(expect.objectContaining({ cause: expect.anything() as unknown }));
  });
});

describe("the text of a path", () => {
  it.each([
    ["..namedfork/rsrc", "path.stream"],
    ["a/..namedfork", "path.stream"],
    ["a/..NamedFork/x", "path.stream"],
    ["a/..namedforks", undefined],
    ["x..namedfork/a", undefined],
    [`${"n".repeat(255)}/x`, undefined],
    [`${"n".repeat(256)}/x`, "path.long"],
  ])("%s: %s", (path, rule) => {
    expect(refuseText(path)?.rule).toBe(rule);
  });

  it.each([
    ["a\\\\.\\b", undefined],
    ["a\\??\\b", "path.characters"],
    ["x\\c:\\y", "path.stream"],
    ["c:\\x\\y", undefined],
    [".\\..\\a", undefined],
  ])("on Windows %s: %s", (path, rule) => {
    expect(refuseWindows(path)?.rule).toBe(rule);
  });
});
