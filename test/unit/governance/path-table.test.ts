import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  hasEncodedSyntax,
  isForeignName,
  looksShortened,
  refuseText,
  refuseWindows,
} from "../../../agent-server/governance/policy/path-syntax.ts";
import { forms, loadPathRules, parsePathRules } from "../../../agent-server/governance/policy/path-table.ts";

const configDir = join(import.meta.dirname, "../../../config");
const shipped = readFileSync(join(configDir, "paths.yaml"), "utf8");

describe("the rule table", () => {
  it("that ships passes its own examples", () => {
    // Examples are tried with a table that is not the shipped one to the letter.
    const rules = parsePathRules(`${shipped}\n# Changed\n`);
    expect(rules.message("secret.env")).toMatch(/\.$/);
    expect(rules.judge("home/u/x/.env", ".env").map((one) => one.rule)).toEqual(["secret.env"]);
    expect(rules.judge("home/u/x/a.ts", "a.ts")).toEqual([]);
  });

  it("lets a name be secret and protected at once while the secret depends on content", () => {
    expect(
      loadPathRules(configDir)
        .judge("w/.husky/a.pem", ".husky/a.pem")
        .map((one) => one.rule),
    ).toEqual(["secret.private-key", "protected.hooks"]);
  });

  const rule = "{ id: secret.x, sensitive: secret, message: M., paths: ['**/x'], match: [x], not_match: [y] }";
  it.each([
    ["is empty", ""],
    ["is no YAML", "rules: ["],
    ["has no rules", "version: 1\nrules: []"],
    ["is of another version", `version: 2\nrules: [${rule}]`],
    ["has a field it does not know", `version: 1\nrules: [${rule.replace("message", "massage: 1, message")}]`],
    ["has a rule without counter-examples", `version: 1\nrules: [${rule.replace(", not_match: [y]", "")}]`],
    ["has a rule that misses its example", `version: 1\nrules: [${rule.replace("match: [x]", "match: [z]")}]`],
    ["has a rule that hits its counter-example", `version: 1\nrules: [${rule.replace("[y]", "[a/x]")}]`],
    ["has a rule twice", `version: 1\nrules: [${rule}, ${rule}]`],
    ["has a content that is no pattern", `version: 1\nrules: [${rule.replace("match: [x]", "content: '(', match: [x]")}]`],
    ["is cut short", shipped.slice(0, shipped.length - 40)],
  ])("is not used when it %s", (_what, text) => {
    expect(() => parsePathRules(text)).toThrow();
  });

  it("is used when all is well", () => {
    expect(parsePathRules(`version: 1\nrules: [${rule}]`).judge("a/x", "x")).toHaveLength(1);
  });
});

describe("the forms of a name", () => {
  it.each([
    ["A/B", ["a/b"]],
    ["/a/b", ["a/b"]],
    ["a\\b", ["a/b"]],
    ["a. /b .", ["a/b"]],
    ["a:s/b::$DATA", ["a/b"]],
    ["C:\\a", ["c:/a"]],
    ["%2e%65nv", ["%2e%65nv", ".env"]],
    ["%25%36%35", ["%25%36%35", "e"]],
    ["a~", ["a~", "a"]],
    [".a.swp", [".a.swp", "a"]],
    ["x/#a#", ["x/#a#", "x/a"]],
    ["Straße", ["strasse"]],
  ])("%s", (path, expected) => {
    expect(forms(path)).toEqual(expected);
  });
});

describe("names on Windows", () => {
  it.each([
    ["\\\\server\\share\\x", "path.unc"],
    ["//server/share/x", "path.unc"],
    ["\\\\?\\C:\\x", "path.device"],
    ["//?/C:/x", "path.device"],
    ["\\\\.\\COM1", "path.device"],
    ["\\??\\C:\\x", "path.device"],
    ["C:x", "path.drive-relative"],
    ["C:", "path.drive-relative"],
    ["file.txt:stream", "path.stream"],
    ["src\\a.ts::$DATA", "path.stream"],
    ["C:\\a\\b:c", "path.stream"],
    ["CON", "path.device"],
    ["src/nul", "path.device"],
    ["aux.ts", "path.device"],
    ["com1.tar.gz", "path.device"],
    ["COM¹", "path.device"],
    ["lpt9", "path.device"],
    ["conin$", "path.device"],
    ["CONOUT$.txt", "path.device"],
    ["nul  .txt", "path.device"],
    [".env.", "path.trailing"],
    ["src /a.ts", "path.trailing"],
    ["a.../b", "path.trailing"],
    ["a?.ts", "path.characters"],
    ["a|b", "path.characters"],
    ['"a"', "path.characters"],
  ])("%s is refused", (path, rule) => {
    expect(refuseWindows(path)?.rule).toBe(rule);
  });

  it.each([
    "src/a.ts",
    "src\\a.ts",
    "C:\\work\\a.ts",
    "C:/work/a.ts",
    "..\\a",
    ".\\a",
    "console.ts",
    "com10.txt",
    "nullable.ts",
    "auxiliary",
    ".env",
    "a b.ts",
  ])("%s is looked up", (path) => {
    expect(refuseWindows(path)).toBeNull();
  });

  it("knows the names other platforms may have and Windows may not", () => {
    expect(["con", "AUX.c", "a.", "a "].every(isForeignName)).toBe(true);
    expect([".", "..", "a", "conf", "con_"].some(isForeignName)).toBe(false);
  });

  it("reports short names", () => {
    expect(looksShortened("PROGRA~1\\x")).toBe(true);
    expect(looksShortened("~/x~")).toBe(false);
  });
});

describe("the text of a path", () => {
  it.each(["%2e", "%2F", "%5c", "%00", "%0a", "%252e", "%25252f", "%c0%ae", "%e0%80%af", "%u2215"])(
    "%s changes the path when decoded",
    (text) => {
      expect(hasEncodedSyntax(`a${text}b`)).toBe(true);
    },
  );
  it.each(["%20", "%41", "100%", "%zz", "a%b", "%e4%b8%ad"])("%s does not", (text) => {
    expect(hasEncodedSyntax(`a${text}b`)).toBe(false);
  });
  it("lets ordinary text of any script through", () => {
    for (const path of ["a b", "ä", "日本", "한글", "наш", "1️⃣.md", "❤️.md", "👩‍💻.md", "می‌خواهم"]) expect(refuseText(path)).toBeNull();
  });
});
