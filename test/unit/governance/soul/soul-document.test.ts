import { describe, expect, it } from "vitest";
import { decodeSoul, maxSoulBytes, readSoul } from "../../../../agent-server/governance/soul/soul-document.ts";

/** Lines 1 to 24, the smallest soul there is. */
const small = `version: v1
mission: m
allegiance: a
autonomy_posture:
  level: supervised
  description: ""
  allowed_autonomous: []
  requires_approval: [everything]
risk_rules:
  - name: r
    description: d
    enforced: true
approval_rules:
  default_timeout_seconds: 60
  escalation_on_timeout: skip_and_log
  channels: [chat]
tone_invariants: [t]
memory_ethics: [e]
scheduling_boundaries:
  max_concurrent_jobs: 1
  max_job_duration_seconds: 1
  no_autonomous_irreversible: true
  require_ready_state: true
  description: ""
`;
const change = (from: string | RegExp, to: string) => small.replace(from, to);
const reported = (yaml: string) => readSoul(yaml).issues.map(({ line, column, severity, rule }) => `${line}:${column} ${severity} ${rule}`);
/** Position and the first quoted name of each issue. */
const named = (yaml: string) =>
  readSoul(yaml).issues.map(({ line, column, message }) => `${line}:${column} ${/"([^"]+)"/.exec(message)?.[1]}`);

describe("a text that is no soul", () => {
  it.each<[what: string, yaml: string, issues: string[]]>([
    ["nothing", "", ["1:1"]],
    ["a list", "- a", ["1:1"]],
    ["null", "null", ["1:1"]],
    ["a byte order mark", "\uFEFFa: 1", ["1:1"]],
    ["a lost character", "a: 1\nb: \uFFFD", ["2:4"]],
    ["half a character", "a: \ud800", ["1:1"]],
    ["a bell", "a: 1\nbc: x\u0007y", ["2:6"]],
    ["a direction override", "a: \u202e", ["1:4"]],
    ["a space of no width", "a: b\u200bc", ["1:5"]],
    ["a delete character", "a: \u007f", ["1:4"]],
    ["a lone carriage return", "a: 1\nb: 2\rc: 3", ["2:5"]],
    ["33 brackets in each other", `a: ${"[".repeat(33)}`, ["1:36"]],
    ["33 braces in each other", `a: ${"{".repeat(33)}`, ["1:36"]],
    ["32 brackets in each other", `a: ${"[".repeat(32)}${"]".repeat(32)}`, ["1:34"]],
    ["40 levels", `${Array.from({ length: 40 }, (_, level) => `${" ".repeat(level)}a:`).join("\n")} 1\n`, ["16:16"]],
    ["more than 20,000 parts", "- a\n".repeat(10_001), ["10001:1"]],
    ["more than 20,000 commas", `a: [${"1,".repeat(20_001)}]`, ["1:40004"]],
    ["a directive", "%YAML 1.2\n---\na: 1", ["1:1"]],
    ["a field twice", `${small}mission: n\n`, ["25:1"]],
    ["a merge", `${small}<<: {a: 1}\n`, ["25:1"]],
    ["an anchor", change("mission: m", "mission: &x m"), ["2:13"]],
    ["an anchor of a list", change("channels: [chat]", "channels: &c [chat]"), ["16:16"]],
    ["an alias", change("mission: m", "mission: &x m").replace("allegiance: a", "allegiance: *x"), ["2:13", "3:13"]],
    ["a tag of a map", change("approval_rules:", "approval_rules: !!map"), ["14:3"]],
    ["a tag that is not known", change("mission: m", "mission: !x m"), ["2:10", "2:13"]],
    ["a tab", "a:\n\tb: 1\n", ["2:1"]],
    ["two documents", "a: 1\n---\nb: 2\n", ["2:1"]],
    ["a field that is a list", "? [a]\n: 1\n", ["1:3"]],
    ["a list that does not end", "a: [\n", ["2:1"]],
    ["a quote that does not end", change("mission: m", "mission: 'm"), ["25:1"]],
  ])("%s", (_, yaml, issues) => {
    expect(reported(yaml)).toEqual(issues.map((place) => `${place} critical schema`));
    const { document, raw, versionRange, placeOf } = readSoul(yaml);
    expect([document, raw, versionRange, placeOf(["version"])]).toEqual([null, null, null, {}]);
  });

  it.each<[what: string, yaml: string, issue: string]>([
    ["a field that is missing", change("mission: m\n", ""), "1:1 mission"],
    ["a field of a field that is missing", change("  level: supervised\n", ""), "5:3 autonomy_posture.level"],
    ["a number for a text", change("mission: m", "mission: 7"), "2:10 mission"],
    ["nothing for a text", change("mission: m", "mission:"), "2:9 mission"],
    ["a text for a number", change("seconds: 60", "seconds: soon"), "14:28 approval_rules.default_timeout_seconds"],
    ["a fraction", change("jobs: 1", "jobs: 1.5"), "20:24 scheduling_boundaries.max_concurrent_jobs"],
    ["a text for a yes", change("irreversible: true", "irreversible: sure"), "22:31 scheduling_boundaries.no_autonomous_irreversible"],
    ["a text for a list", change("[e]", "e"), "18:16 memory_ethics"],
    ["a text for a map", change(/approval_rules:\n(.*\n){3}/, "approval_rules: x\n"), "13:17 approval_rules"],
    ["a text for a map in a list", change(/risk_rules:\n(.*\n){3}/, "risk_rules:\n  - r\n"), "10:5 risk_rules[0]"],
    ["a number in a list of texts", change("[t]", "[t, 7]"), "17:22 tone_invariants[1]"],
    ["a wrong field in a list", change("enforced: true", "enforced: maybe"), "12:15 risk_rules[0].enforced"],
    ["a word that is none of those", change("level: supervised", "level: free"), "5:10 autonomy_posture.level"],
    ["an empty text", change("mission: m", 'mission: ""'), "2:10 mission"],
    ["too small a number", change("seconds: 60", "seconds: 0"), "14:28 approval_rules.default_timeout_seconds"],
    ["too large a number", change("seconds: 60", "seconds: 99999999"), "14:28 approval_rules.default_timeout_seconds"],
    ["too long a text", change("mission: m", `mission: ${"m".repeat(2_001)}`), "2:10 mission"],
    ["a version that is none", change("version: v1", "version: one"), "1:10 version"],
  ])("for %s, which is placed", (_, yaml, issue) => {
    expect(named(yaml)).toEqual([issue]);
    expect(readSoul(yaml)).toMatchObject({ document: null, raw: expect.objectContaining({ allegiance: "a" }) as object });
  });

  it("reports fifty mistakes at most", () => {
    expect(readSoul(small + "mission: 1\n".repeat(60)).issues).toHaveLength(50);
    expect(readSoul(`a: ${"[]".repeat(80)}`).issues).toHaveLength(50);
  });
});

describe("a text that is a soul", () => {
  it.each<[what: string, yaml: string, range: [number, number]]>([
    ["as it is", small, [9, 11]],
    ["with the line ends of Windows", small.replaceAll("\n", "\r\n"), [9, 11]],
    ["with a tab in a text", change("mission: m", "mission: m\tm"), [9, 11]],
    ["with the mark of a document", `---\n${small}`, [13, 15]],
    ["with its version in quotes", change("version: v1", 'version: "v1"'), [9, 13]],
  ])("%s has no issue", (_, yaml, range) => {
    expect(reported(yaml)).toEqual([]);
    const read = readSoul(yaml);
    expect(read.document).toMatchObject({ version: "v1", autonomy_posture: { level: "supervised" } });
    expect(read.versionRange).toEqual(range);
  });

  it("says where each of its fields stands, or the nearest there is", () => {
    const { placeOf } = readSoul(small);
    expect(
      (
        [
          [],
          ["version"],
          ["risk_rules", 0, "name"],
          ["risk_rules", 0, "color"],
          ["risk_rules", 7],
          ["tone_invariants", 0],
          ["nowhere", "at all"],
        ] as const
      ).map((path) => placeOf(path)),
    ).toEqual([
      { line: 1, column: 1 },
      { line: 1, column: 10 },
      { line: 10, column: 11 },
      { line: 10, column: 5 },
      { line: 10, column: 3 },
      { line: 17, column: 19 },
      { line: 1, column: 1 },
    ]);
  });

  it("is warned of fields that are not known, at every depth, fifty times at most", () => {
    expect(named(`${small}extra: 1\n`)).toEqual(["25:1 extra"]);
    expect(named(change("level: supervised", "level: supervised\n  mood: good"))).toEqual(["6:3 autonomy_posture.mood"]);
    expect(named(change("enforced: true", "enforced: true\n    color: red"))).toEqual(["13:5 risk_rules[0].color"]);
    const many = readSoul(small + Array.from({ length: 60 }, (_, index) => `x${index}: 1\n`).join(""));
    expect(many.issues).toHaveLength(50);
    expect(many.document).not.toBeNull();
    expect(named(`${small}toString: 1\n`)).toEqual(["25:1 toString"]);
  });

  it("is as long as it may be, and no longer", () => {
    const long = `${small}#${"x".repeat(maxSoulBytes - small.length - 1)}`;
    expect(readSoul(long).document).not.toBeNull();
    for (const yaml of [`${long}x`, `${small}#${"ä".repeat(100_000)}`])
      expect(readSoul(yaml).issues).toEqual([{ rule: "schema", severity: "critical", message: expect.any(String) }]);
    expect(readSoul(`${small}#${":".repeat(19_000)}`).document).not.toBeNull();
  });

  it("is read from bytes as they are", () => {
    expect(decodeSoul(Buffer.from("\uFEFFä"))).toBe("\uFEFFä");
    expect(decodeSoul(Buffer.from([0xff]))).toEqual({
      rule: "schema",
      severity: "critical",
      message: expect.any(String) as string,
      line: 1,
      column: 1,
    });
    expect(decodeSoul(Buffer.alloc(maxSoulBytes, "a"))).toHaveLength(maxSoulBytes);
    expect(decodeSoul(Buffer.alloc(maxSoulBytes + 1, "a"))).toMatchObject({ rule: "schema", severity: "critical" });
  });
});
