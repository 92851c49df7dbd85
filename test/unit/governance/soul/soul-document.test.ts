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
const told = (yaml: string) =>
  readSoul(yaml).issues.map(({ line, column, severity, rule, message }) => `${line}:${column} ${severity} ${rule}: ${message}`);
const critical = (text: string) => {
  const [place = "", ...words] = text.split(" ");
  return `${place} critical schema: ${words.join(" ")}`;
};

describe("a text that is no soul", () => {
  it.each<[what: string, yaml: string, issues: string[]]>([
    ["nothing", "", ["1:1 A soul is a YAML map with version, mission, allegiance and so on."]],
    ["a list", "- a", ["1:1 A soul is a YAML map with version, mission, allegiance and so on."]],
    ["null", "null", ["1:1 A soul is a YAML map with version, mission, allegiance and so on."]],
    ["a byte order mark", "\uFEFFa: 1", ["1:1 The text begins with a byte order mark. Save it as UTF-8 without one."]],
    ["a lost character", "a: 1\nb: \uFFFD", ["2:4 The text holds characters that are not UTF-8. Save it as UTF-8."]],
    ["half a character", "a: \ud800", ["1:1 The text holds characters that are not UTF-8. Save it as UTF-8."]],
    ["a bell", "a: 1\nbc: x\u0007y", ["2:6 The text holds an invisible control character here. Remove it."]],
    ["a direction override", "a: \u202e", ["1:4 The text holds an invisible control character here. Remove it."]],
    ["a space of no width", "a: b\u200bc", ["1:5 The text holds an invisible control character here. Remove it."]],
    ["a delete character", "a: \u007f", ["1:4 The text holds an invisible control character here. Remove it."]],
    ["a lone carriage return", "a: 1\nb: 2\rc: 3", ["2:5 A line ends in a lone carriage return. Use ordinary line ends."]],
    ["33 brackets in each other", `a: ${"[".repeat(33)}`, ["1:36 Brackets are nested too deeply here."]],
    ["33 braces in each other", `a: ${"{".repeat(33)}`, ["1:36 Brackets are nested too deeply here."]],
    ["32 brackets in each other", `a: ${"[".repeat(32)}${"]".repeat(32)}`, ["1:34 The text is nested too deeply here."]],
    [
      "40 levels",
      `${Array.from({ length: 40 }, (_, level) => `${" ".repeat(level)}a:`).join("\n")} 1\n`,
      ["16:16 The text is nested too deeply here."],
    ],
    ["more than 20,000 parts", "- a\n".repeat(10_001), ["10001:1 The text has too many parts to be a soul."]],
    ["more than 20,000 commas", `a: [${"1,".repeat(20_001)}]`, ["1:40004 The text has too many parts to be a soul."]],
    ["a directive", "%YAML 1.2\n---\na: 1", ["1:1 YAML directives (%) are not used in a soul."]],
    ["a field twice", `${small}mission: n\n`, ['25:1 The field "mission" stands here a second time.']],
    ["a merge", `${small}<<: {a: 1}\n`, ["25:1 Merge keys (<<) are not used in a soul."]],
    ["an anchor", change("mission: m", "mission: &x m"), ["2:13 Anchors (&name) are not used in a soul."]],
    ["an anchor of a list", change("channels: [chat]", "channels: &c [chat]"), ["16:16 Anchors (&name) are not used in a soul."]],
    [
      "an alias",
      change("mission: m", "mission: &x m").replace("allegiance: a", "allegiance: *x"),
      ["2:13 Anchors (&name) are not used in a soul.", "3:13 Aliases (*name) are not used in a soul. Write the value out."],
    ],
    ["a tag of a map", change("approval_rules:", "approval_rules: !!map"), ["14:3 Tags (!name) are not used in a soul."]],
    [
      "a tag that is not known",
      change("mission: m", "mission: !x m"),
      ["2:10 Tags (!name) are not used in a soul.", "2:13 Tags (!name) are not used in a soul."],
    ],
    ["a tab", "a:\n\tb: 1\n", ["2:1 A tab stands where spaces belong. Indent with spaces."]],
    ["two documents", "a: 1\n---\nb: 2\n", ["2:1 The text holds several documents (---). A soul is one."]],
    ["a field that is a list", "? [a]\n: 1\n", ["1:3 The name of a field must be a text."]],
    [
      "a list that does not end",
      "a: [\n",
      ["2:1 This is not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]"],
    ],
    ["a quote that does not end", change("mission: m", "mission: 'm"), ["25:1 This is not valid YAML: Missing closing 'quote"]],
  ])("%s", (_, yaml, issues) => {
    expect(told(yaml)).toEqual(issues.map(critical));
    const { document, raw, versionRange, placeOf } = readSoul(yaml);
    expect([document, raw, versionRange, placeOf(["version"])]).toEqual([null, null, null, {}]);
  });

  it.each<[what: string, yaml: string, issue: string]>([
    ["a field that is missing", change("mission: m\n", ""), '1:1 The field "mission" is missing.'],
    ["a field of a field that is missing", change("  level: supervised\n", ""), '5:3 The field "autonomy_posture.level" is missing.'],
    ["a number for a text", change("mission: m", "mission: 7"), '2:10 "mission" must be a text (put it in quotes).'],
    ["nothing for a text", change("mission: m", "mission:"), '2:9 "mission" must be a text (put it in quotes).'],
    ["a text for a number", change("seconds: 60", "seconds: soon"), '14:28 "approval_rules.default_timeout_seconds" must be a number.'],
    ["a fraction", change("jobs: 1", "jobs: 1.5"), '20:24 "scheduling_boundaries.max_concurrent_jobs" must be a whole number.'],
    [
      "a text for a yes",
      change("irreversible: true", "irreversible: sure"),
      '22:31 "scheduling_boundaries.no_autonomous_irreversible" must be true or false.',
    ],
    ["a text for a list", change("[e]", "e"), '18:16 "memory_ethics" must be a list.'],
    ["a text for a map", change(/approval_rules:\n(.*\n){3}/, "approval_rules: x\n"), '13:17 "approval_rules" must be a map of fields.'],
    [
      "a text for a map in a list",
      change(/risk_rules:\n(.*\n){3}/, "risk_rules:\n  - r\n"),
      '10:5 "risk_rules[0]" must be a map of fields.',
    ],
    ["a number in a list of texts", change("[t]", "[t, 7]"), '17:22 "tone_invariants[1]" must be a text (put it in quotes).'],
    ["a wrong field in a list", change("enforced: true", "enforced: maybe"), '12:15 "risk_rules[0].enforced" must be true or false.'],
    [
      "a word that is none of those",
      change("level: supervised", "level: free"),
      '5:10 "autonomy_posture.level" must be supervised or autonomous.',
    ],
    ["an empty text", change("mission: m", 'mission: ""'), '2:10 "mission" must not be empty.'],
    ["too small a number", change("seconds: 60", "seconds: 0"), '14:28 "approval_rules.default_timeout_seconds" must be at least 10.'],
    [
      "too large a number",
      change("seconds: 60", "seconds: 99999999"),
      '14:28 "approval_rules.default_timeout_seconds" must be at most 86400.',
    ],
    ["too long a text", change("mission: m", `mission: ${"m".repeat(2_001)}`), '2:10 "mission" is longer than 2000 characters.'],
    ["a version that is none", change("version: v1", "version: one"), '1:10 "version": A version is v and a number, such as v2.'],
  ])("for %s, which is placed", (_, yaml, issue) => {
    expect(told(yaml)).toEqual([critical(issue)]);
    expect(readSoul(yaml)).toMatchObject({ document: null, raw: expect.objectContaining({ allegiance: "a" }) as object });
  });

  it("tells fifty mistakes at most", () => {
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
    expect(told(yaml)).toEqual([]);
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
    const warning = (text: string) => critical(text).replace("critical", "warning");
    expect(told(`${small}extra: 1\n`)).toEqual([warning('25:1 The field "extra" is not known and has no effect.')]);
    expect(told(change("level: supervised", "level: supervised\n  mood: good"))).toEqual([
      warning('6:3 The field "autonomy_posture.mood" is not known and has no effect.'),
    ]);
    expect(told(change("enforced: true", "enforced: true\n    color: red"))).toEqual([
      warning('13:5 The field "risk_rules[0].color" is not known and has no effect.'),
    ]);
    const many = readSoul(small + Array.from({ length: 60 }, (_, index) => `x${index}: 1\n`).join(""));
    expect(many.issues).toHaveLength(50);
    expect(many.document).not.toBeNull();
    expect(told(`${small}toString: 1\n`)).toEqual([warning('25:1 The field "toString" is not known and has no effect.')]);
  });

  it("is as long as it may be, and no longer", () => {
    const long = `${small}#${"x".repeat(maxSoulBytes - small.length - 1)}`;
    expect(readSoul(long).document).not.toBeNull();
    for (const yaml of [`${long}x`, `${small}#${"ä".repeat(100_000)}`])
      expect(readSoul(yaml).issues).toEqual([{ rule: "schema", severity: "critical", message: "A soul has at most 200 kB. Shorten it." }]);
    expect(readSoul(`${small}#${":".repeat(19_000)}`).document).not.toBeNull();
  });

  it("is read from bytes as they are", () => {
    expect(decodeSoul(Buffer.from("\uFEFFä"))).toBe("\uFEFFä");
    expect(decodeSoul(Buffer.from([0xff]))).toEqual({
      rule: "schema",
      severity: "critical",
      message: "The file is not UTF-8. Save it as UTF-8.",
      line: 1,
      column: 1,
    });
    expect(decodeSoul(Buffer.alloc(maxSoulBytes, "a"))).toHaveLength(maxSoulBytes);
    expect(decodeSoul(Buffer.alloc(maxSoulBytes + 1, "a"))).toMatchObject({ message: "A soul has at most 200 kB. Shorten it." });
  });
});
