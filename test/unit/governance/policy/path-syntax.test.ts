import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { refuseText, refuseWindows } from "../../../../agent-server/governance/policy/path-syntax.ts";
import { loadPathRules, parsePathRules } from "../../../../agent-server/governance/policy/path-table.ts";
import { createPathPolicy, type PathPolicyDeps } from "../../../../agent-server/governance/policy/path-policy.ts";

const configDir = join(import.meta.dirname, "../../../../config");
let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-words-")));
  mkdirSync(join(base, "proj/src"), { recursive: true });
  mkdirSync(join(base, "home"));
  writeFileSync(join(base, "proj/src/a.ts"), "a");
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const policyOf = (more: Partial<PathPolicyDeps> = {}) =>
  createPathPolicy({ workspace: join(base, "proj"), dataDir: join(base, "data"), configDir, home: join(base, "home"), ...more });
const refusal = (path: string, more: Partial<PathPolicyDeps> = {}) => {
  const resolved = policyOf(more).resolve(path);
  return resolved.ok ? resolved : resolved.rule;
};

describe("a rejected path names its rule", () => {
  it.each([
    ["", "path.empty"],
    ["a\0b", "path.nul"],
    ["a\nb", "path.control"],
    ["a\ud800", "path.encoding"],
    ["a\u202eb", "path.invisible"],
    ["a/..namedfork/rsrc", "path.stream"],
    ["x/".repeat(2_049), "path.long"],
    ["n".repeat(256), "path.long"],
    ["https://example.com/a", "path.scheme"],
    ["file:a", "path.scheme"],
    ["file://server/a", "path.url"],
    ["file:///%zz", "path.url"],
    ["file:///etc/hosts", "path.url"],
    ["file:///a%00b", "path.nul"],
    ["/dev/null", "path.system"],
    ["%2e%2e/a", "path.encoded"],
    ["a\\b", "path.foreign"],
    ["src/a.ts/b", "path.not-a-folder"],
    ["loop", "path.loop"],
    ["x/".repeat(2_040), "path.long"],
  ])("%j", (path, rule) => {
    symlinkSync("loop", join(base, "proj/loop"));
    expect(refusal(path)).toBe(rule);
  });

  it("without a workspace", () => {
    expect(refusal("a", { workspace: null })).toBe("path.no-workspace");
  });

  it("takes no more than the longest name and path a disk can have", () => {
    expect(refuseText("n".repeat(255))).toBeNull();
    expect(refuseText("ä".repeat(127))).toBeNull();
    expect(refuseText(`${"ä".repeat(128)}/${"n".repeat(200)}`)?.rule).toBe("path.long");
    expect(refuseText(`${"x/".repeat(2_047)}xx`)).toBeNull();
    expect(refuseText(`${"x/".repeat(2_048)}x`)?.rule).toBe("path.long");
    expect(refuseText("ä/".repeat(1_366))?.rule).toBe("path.long");
  });

  it.each([
    ["\\\\?\\C:\\a", "path.device"],
    ["\\\\s\\a", "path.unc"],
    ["C:a", "path.drive-relative"],
    ["a:b", "path.drive-relative"],
    ["ab:c", "path.stream"],
    ["src/aux.ts", "path.device"],
    ["src/a.", "path.trailing"],
    ["a*", "path.characters"],
    ["a<b", "path.characters"],
    ["a>b", "path.characters"],
  ])("on Windows: %s", (path, rule) => {
    expect(refuseWindows(path)).toMatchObject({ rule });
  });
});

describe("on Windows, as far as it is not the system's doing", () => {
  const windows = { platform: "win32" } as const;

  it("a short name is not used for what does not exist", () => {
    expect(refusal("PROGRA~1", windows)).toBe("path.short-name");
    writeFileSync(join(base, "proj/PROGRA~1"), "");
    expect(policyOf(windows).resolve("PROGRA~1")).toMatchObject({ ok: true, display: "PROGRA~1" });
    expect(policyOf().resolve("PROGRA~2")).toMatchObject({ ok: true, type: "missing" });
  });

  it("names are judged below the workspace, whatever the workspace is called", () => {
    mkdirSync(join(base, "a:b"));
    const policy = policyOf({ ...windows, workspace: join(base, "a:b") });
    expect(policy.resolve(join(base, "a:b/x.ts"))).toMatchObject({ ok: true, display: "x.ts" });
    expect(policy.resolve("x:stream")).toMatchObject({ ok: false, rule: "path.drive-relative" });
    expect(policy.resolve(join(base, "a:c/x.ts"))).toMatchObject({ ok: false, rule: "path.stream" });
    expect(policyOf({ ...windows, workspace: null }).resolve("aux")).toMatchObject({ ok: false, rule: "path.device" });
  });

  it("the home folder may be written with a backslash, which elsewhere is a name", () => {
    expect(policyOf(windows).resolve("~\\notes.txt")).toMatchObject({ ok: true, absolute: `${base}/home/\\notes.txt`, inside: false });
    expect(policyOf().resolve("~\\notes.txt")).toMatchObject({ ok: false, rule: "path.foreign" });
  });

  it("there are no folders of devices", () => {
    expect(policyOf(windows).resolve("/dev/null")).toMatchObject({ ok: true, type: "other" });
  });
});

describe("on disks that may ignore case", () => {
  it("the workspace is known by its identity, under any name that leads to it", () => {
    mkdirSync(join(base, "proj/sub"));
    const policies = (["darwin", "linux"] as const).map((platform) => policyOf({ platform }));
    // The name it was opened by now leads to it; the path that is asked for is the other name.
    renameSync(join(base, "proj"), join(base, "moved"));
    symlinkSync("moved", join(base, "proj"));
    const [mac, linux] = policies;
    expect(mac?.resolve("src/a.ts")).toMatchObject({ ok: true, inside: true, display: "src/a.ts", absolute: join(base, "proj/src/a.ts") });
    expect(mac?.resolve("sub")).toMatchObject({ inside: true, display: "sub", type: "directory" });
    expect(mac?.resolve(".")).toMatchObject({ inside: true, display: "." });
    expect(mac?.resolve(join(base, "home"))).toMatchObject({ inside: false });
    expect(mac?.resolve("/")).toMatchObject({ inside: false, display: "/" });
    expect(linux?.resolve("src/a.ts")).toMatchObject({ inside: false });
  });
});

describe("what policy says of a path", () => {
  it("is the message of the rule, one for each and one for the others", () => {
    const { message } = policyOf();
    const messages = ["own.secret", "own.data", "name.portable", "secret.env", "no.such.rule"].map(message);
    for (const one of messages) expect(one).toMatch(/^[A-Z].*\.$/);
    expect(new Set(messages).size).toBe(messages.length);
    expect(message("no.such.rule")).toBe(message("nor.this.one"));
  });

  it.each([
    ["/", true],
    ["home", true],
    [".", true],
    ["proj", false],
    [null, false],
  ])("says that the workspace %s is broad: %s", (workspace, isBroad) => {
    expect(policyOf({ workspace: workspace === null || workspace === "/" ? workspace : join(base, workspace) }).broad !== null).toBe(
      isBroad,
    );
  });

  it("with a table that cannot be used is that alone", () => {
    const content = expect.stringContaining("config/paths.yaml") as string;
    const policy = policyOf({ configDir: join(base, "nowhere") });
    expect(policy).toMatchObject({ broad: null, version: "", problem: content });
    expect(policy.message("secret.env")).toEqual(content);
    expect(policy.resolve("src/a.ts")).toEqual({ ok: false, rule: "path.table", message: content });
    expect(() => loadPathRules(join(base, "nowhere"))).toThrow(
      expect.objectContaining({ code: "internal", message: content, cause: expect.objectContaining({ code: "ENOENT" }) as unknown }),
    );
  });

  it("bears the version of the table", () => {
    const text = readFileSync(join(configDir, "paths.yaml"));
    expect(policyOf()).toMatchObject({ version: createHash("sha256").update(text).digest("hex"), problem: null });
  });
});

describe("names alone", () => {
  it("are judged as the whole path would be: the strictest rule, and Lancelot's own folders", () => {
    const policy = policyOf({ dataDir: join(base, "proj/.data") });
    expect([".husky/a.pem", ".data/lancelot.sqlite", ".data/config/x", "src/a.ts", ".husky/a"].map(policy.judgeName)).toEqual([
      "secret",
      "secret",
      "protected",
      null,
      "protected",
    ]);
    expect(policyOf({ workspace: null }).judgeName(".env")).toBeNull();
  });
});

describe("what a file contains", () => {
  const limit = 256 * 1024;

  it.each([
    ["as much as is searched, and no key", limit, "", null],
    ["more than is searched", limit + 1, "", "secret.private-key"],
    ["a key at its very end", limit - 40, "\n-----BEGIN PRIVATE KEY-----", "secret.private-key"],
    ["nothing", 0, "", null],
  ])("decides of a .pem with %s", (_, size, end, rule) => {
    writeFileSync(join(base, "proj/a.pem"), "c".repeat(size) + end);
    expect(policyOf().resolve("a.pem")).toMatchObject({ ok: true, rule });
  });

  it("does not decide of a folder of that name, nor of what is not there", () => {
    mkdirSync(join(base, "proj/b.pem"));
    expect(policyOf().resolve("b.pem")).toMatchObject({ type: "directory", sensitive: null });
    expect(policyOf().resolve("c.pem")).toMatchObject({ type: "missing", rule: "secret.private-key" });
  });
});

describe("what changes between the decision and the effect", () => {
  it("is no change where a sensitive name leads to an ordinary file", () => {
    symlinkSync("src/a.ts", join(base, "proj/.env"));
    const policy = policyOf();
    const before = policy.resolve(".env");
    expect(before).toMatchObject({ sensitive: "secret", display: "src/a.ts" });
    expect(policy.stillSame(before)).toBe(true);
  });
});

describe("the rule table", () => {
  const rule = "{ id: secret.x, sensitive: secret, message: M., paths: ['**/x'], match: [x], not_match: [y] }";
  const malformed = "malformed";
  const broken = (example: string) => new RegExp(`secret\\.x .*${example}`);

  it.each([
    ["rules: [", malformed],
    [`version: 2\nrules: [${rule}]`, malformed],
    [`version: 1\nrules: [${rule.replace("secret.x", "other.x")}]`, malformed],
    [`version: 1\nrules: [${rule.replace("secret.x", "Secret.x")}]`, malformed],
    [`version: 1\nrules: [${rule.replace("secret.x", "secret.x1")}]`, malformed],
    [`version: 1\nrules: [${rule.replace("secret.x", "a secret.x")}]`, malformed],
    [`version: 1\nrules: [${rule.replace("M.", "''")}]`, malformed],
    [`version: 1\nrules: [${rule.replace("['**/x']", "[]")}]`, malformed],
    [`version: 1\nrules: [${rule.replace("match: [x]", "match: [z]")}]`, broken('"z"')],
    [`version: 1\nrules: [${rule.replace("[y]", "[y, a/x]")}]`, broken('"a/x"')],
    [`version: 1\nrules: [${rule}, ${rule}]`, broken("twice")],
  ])("is rejected: %s", (text, message) => {
    expect(() => parsePathRules(text)).toThrow(
      expect.objectContaining({ code: "internal", message: expect.stringMatching(message) as string }),
    );
  });

  it("says which example was wrong, the second or the first, in any of its forms", () => {
    const except = rule.replace("match: [x]", "except: ['a/**'], match: [x, b/x]");
    const rules = parsePathRules(`version: 1\nrules: [${except.replace("[y]", "[y, a/x]")}]`);
    expect(rules.judge("a/x", "x")).toEqual([]);
    expect(rules.judge("b/x~", "x")).toHaveLength(1);
    expect(rules.message("secret.x")).toBe("M.");
    expect(rules.message("secret.y")).toBeNull();
    expect(() => parsePathRules(`version: 1\nrules: [${rule.replace("[y]", "['x~']")}]`)).toThrow('matches "x~"');
  });

  it("looks for secrets in the whole path, and for protected files below the workspace", () => {
    const protectedRule = rule.replaceAll("secret", "protected").replaceAll("x", "p");
    const rules = parsePathRules(`version: 1\nrules: [${rule}, ${protectedRule}]`);
    const ids = (absolute: string, relative: string) => rules.judge(absolute, relative).map((verdict) => verdict.rule);
    expect(ids("w/x", "a")).toEqual(["secret.x"]);
    expect(ids("w/a", "x")).toEqual([]);
    expect(ids("w/p", "a")).toEqual([]);
    expect(ids("w/a", "p")).toEqual(["protected.p"]);
    expect(ids("w/x", "p")).toEqual(["secret.x"]);
  });

  it("names each rule once, however many forms of the name it fits", () => {
    const rules = parsePathRules(`version: 1\nrules: [${rule.replace("['**/x']", "['**/x', '**/x~']")}]`);
    expect(rules.judge("x~", "x~")).toHaveLength(1);
  });

  it("keeps its verdicts apart, also after thousands of them", () => {
    const rules = parsePathRules(`version: 1\nrules: [${rule}]`);
    for (let round = 0; round < 2; round += 1)
      for (let index = 0; index < 2_100; index += 1)
        expect(rules.judge(index % 2 === 0 ? `${index}/x` : `${index}`, "r")).toHaveLength(1 - (index % 2));
  });
});
