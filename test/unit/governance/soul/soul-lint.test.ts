import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeSoul, maxSoulBytes, readSoul } from "../../../../agent-server/governance/soul/soul-document.ts";
import { isCritical, lintSoul } from "../../../../agent-server/governance/soul/soul-lint.ts";
import { loadSoulTerms, type SoulTerms } from "../../../../agent-server/governance/soul/soul-terms.ts";
import { configDir, shippedSoul } from "../../../support/soul-fixture.ts";
import { runs } from "../../../support/soak.ts";

const terms = loadSoulTerms(configDir);

/** A small soul without a fault. */
const small = `version: v1
mission: Do the work.
allegiance: One owner.
autonomy_posture:
  level: supervised
  description: Edits wait.
  allowed_autonomous: [read_files]
  requires_approval: [delete, deploy]
risk_rules: []
approval_rules:
  default_timeout_seconds: 60
  escalation_on_timeout: skip_and_log
  channels: [chat]
tone_invariants: [Never suppress an error.]
memory_ethics: [Never store secrets.]
scheduling_boundaries:
  max_concurrent_jobs: 1
  max_job_duration_seconds: 60
  no_autonomous_irreversible: true
  require_ready_state: true
`;

const brief = (yaml: string, by: SoulTerms | undefined = terms) =>
  lintSoul(yaml, by).map(({ rule, severity, message, line, column }) => {
    expect(message).toMatch(/^["A-Za-z].{12,}\.$/s);
    return `${severity} ${rule} ${line}:${column}`;
  });

describe("souls without a fault", () => {
  it.each([
    ["the one that ships", shippedSoul],
    ["a small one", small],
    ["one with Windows line ends", small.replaceAll("\n", "\r\n")],
    ["one as JSON", JSON.stringify(readSoul(small).raw)],
    ["one with a document start", `---\n${small}`],
    ["one that leaves out what has a default", small.replace("risk_rules: []\n", "").replace("  no_autonomous_irreversible: true\n", "")],
    ["one that speaks in brackets", small.replace("Edits wait.", `"${"[a] {b} ".repeat(60)}"`)],
    ["one in another language", small.replace("Do the work.", "仕事をする。Travailler.")],
  ])("%s", (_name, yaml) => {
    expect(lintSoul(yaml, terms)).toEqual([]);
    expect(readSoul(yaml).document).not.toBeNull();
  });
});

describe("the five invariants", () => {
  const destructive = "destructive_actions_require_approval";
  it.each([
    ["nothing held", "[delete, deploy]", "[]", [`critical ${destructive} 8:22`, `critical ${destructive} 8:22`]],
    ["deploying is missing", "[delete, deploy]", "[delete]", [`critical ${destructive} 8:22`]],
    ["deleting is missing", "[delete, deploy]", "[deploy, push]", [`critical ${destructive} 8:22`]],
    ["other words for it", "[delete, deploy]", "[drop_database, deployments]", []],
    ["more words for it", "[delete, deploy]", "[Removing files, Deploy to production]", []],
    ["wipe", "[delete, deploy]", "[wipe_disk, deploy]", []],
    ["everything", "[delete, deploy]", "[everything]", []],
    [
      "a word that only looks like it",
      "[delete, deploy]",
      "[undeletable, employ]",
      [`critical ${destructive} 8:22`, `critical ${destructive} 8:22`, "warning unknown_term 8:23", "warning unknown_term 8:36"],
    ],
    ["deleting allowed", "[read_files]", "[read_files, delete_temp_files]", [`critical ${destructive} 7:36`, "warning unknown_term 7:36"]],
    ["deploying allowed", "[read_files]", "[deploy]", [`critical ${destructive} 7:24`]],
    ["silence not forbidden", "[Never suppress an error.]", "[Be brief.]", ["critical no_silent_degradation 14:18"]],
    ["one word is not enough", "[Never suppress an error.]", "[Never be silent.]", ["critical no_silent_degradation 14:18"]],
    ["two words in two sentences", "[Never suppress an error.]", "[Degrade openly., Tell of every failure.]", []],
    ["no tone", "[Never suppress an error.]", "[]", ["critical no_silent_degradation 14:18"]],
    [
      "irreversible jobs",
      "no_autonomous_irreversible: true",
      "no_autonomous_irreversible: false",
      ["critical scheduling_no_autonomous_irreversible 19:31"],
    ],
    ["no channel", "channels: [chat]", "channels: []", ["critical approval_channels_required 13:13"]],
    [
      "a channel without a name",
      "channels: [chat]",
      'channels: [" "]',
      ["warning blank_text 13:14", "critical approval_channels_required 13:13"],
    ],
    ["one channel without a name", "channels: [chat]", 'channels: [" ", chat]', ["warning blank_text 13:14"]],
    ["a hold about nothing before the others", "[delete, deploy]", "[be_kind, delete, deploy]", ["warning unknown_term 8:23"]],
    ["no ethics", "[Never store secrets.]", "[]", ["warning memory_ethics_required 15:16"]],
    ["ethics left out", "memory_ethics: [Never store secrets.]\n", "", ["warning memory_ethics_required 1:1"]],
  ])("%s", (_name, from, to, issues) => {
    expect(small).toContain(from);
    expect(brief(small.replace(from, to))).toEqual(issues);
  });

  it("what must be held is named with its word, and the word must hold it", () => {
    const nothing: SoulTerms = { approvalCoverage: () => null, autonomousCoverage: () => null };
    const both = [`critical ${destructive} 8:22`, `critical ${destructive} 8:22`];
    const only = (issues: string[]) => issues.filter((issue) => issue.includes(destructive));
    expect(only(brief(small, nothing))).toEqual(both);
    const everything: SoulTerms = { ...terms, approvalCoverage: (term) => terms.approvalCoverage(term === "care" ? "everything" : term) };
    expect(only(brief(small.replace("[delete, deploy]", "[care]"), everything))).toEqual(both);
    for (const [held, found] of [
      ["[]", both],
      ["[be_kind]", both],
      ["[all_actions]", []],
      ["[Every action]", []],
      ["[allactions]", both],
    ] as const)
      expect(only(lintSoul(small.replace("[delete, deploy]", held)).map(({ rule }) => `critical ${rule} 8:22`)), held).toEqual(found);
  });

  it("one critical issue is enough", () => {
    const [critical] = lintSoul(small.replace("[delete, deploy]", "[delete]"), terms);
    const [warning] = lintSoul(small.replace("[chat]", "[chat, pigeon]"), terms);
    if (critical === undefined || warning === undefined) throw new Error("There is no issue.");
    expect(isCritical([])).toBe(false);
    expect(isCritical([warning])).toBe(false);
    expect(isCritical([warning, critical])).toBe(true);
  });

  it("a table of words that fails makes the soul unusable", () => {
    const failing: SoulTerms = {
      approvalCoverage: () => {
        throw new Error("broken");
      },
      autonomousCoverage: () => null,
    };
    expect(lintSoul(small, failing)).toEqual([{ rule: "schema", severity: "critical", message: expect.any(String) }]);
  });

  it("are told also of a soul that does not fit the schema", () => {
    const rules = lintSoul("version: v1\n", terms).map((issue) => issue.rule);
    expect(rules).toEqual(
      expect.arrayContaining([
        "schema",
        "destructive_actions_require_approval",
        "no_silent_degradation",
        "scheduling_no_autonomous_irreversible",
        "approval_channels_required",
        "memory_ethics_required",
      ]),
    );
  });
});

describe("texts that show nothing", () => {
  const blanks = [
    '" "',
    '"\\t"',
    '"\\n\\n"',
    '"\\u00a0"',
    '"\\u3000"',
    '"\\u2003"',
    '"\\u200d"',
    '"\\u200c \\ufe0f"',
    '"\\u2800"',
    '"..."',
    "'—'",
  ];

  it.each(["mission", "allegiance"].flatMap((name) => blanks.map((blank) => [name, blank] as const)))("%s: %s", (name, blank) => {
    const yaml = small.replace(new RegExp(`^${name}: .*$`, "m"), () => `${name}: ${blank}`);
    expect(brief(yaml)).toEqual([`critical blank_text ${name === "mission" ? "2:10" : "3:13"}`]);
  });

  it.each(blanks)("an entry of a list: %s", (blank) => {
    const rules = `[{name: ${blank}, applies_to: [push, ${blank}]}]`;
    const yaml = small
      .replace("[read_files]", () => `[read_files, ${blank}]`)
      .replace("[delete, deploy]", () => `[delete, deploy, ${blank}]`)
      .replace("risk_rules: []", () => `risk_rules: ${rules}`)
      .replace("[chat]", () => `[chat, ${blank}]`)
      .replace("[Never suppress an error.]", () => `[Never suppress an error., ${blank}]`)
      .replace("[Never store secrets.]", () => `[Never store secrets., ${blank}]`);
    const issues = brief(`${yaml}self_knowledge: [${blank}]\n`);
    expect(issues.map((issue) => issue.replace(/:\d+$/, ""))).toEqual(
      [7, 8, 9, 9, 13, 14, 15, 21].map((line) => `warning blank_text ${line}`),
    );
  });

  it.each([
    "\\u200b",
    "\\u202e",
    "\\0",
    "\\e[2J",
    "\\u2066",
    "\\ufeff",
    "\\u00ad",
    "\\u3164",
    "\\u2064",
    "\\U000E0041",
    "\\x07",
    "\\u061c",
    "\\x85",
  ])("an invisible character that is written as an escape (%s) is no text", (escape) => {
    for (const yaml of [small.replace("Do the work.", () => `"Do${escape} it"`), small.replace("delete,", () => `"del${escape}ete",`)])
      expect(lintSoul(yaml, terms)[0]).toMatchObject({ rule: "schema", severity: "critical", line: expect.any(Number) as number });
  });

  it("ethics that are all blank are no ethics", () => {
    expect(brief(small.replace("[Never store secrets.]", '[" "]'))).toEqual([
      "warning blank_text 15:17",
      "warning memory_ethics_required 15:16",
    ]);
  });
});

describe("an approval that nobody gives", () => {
  it.each([
    ...["auto_approve", "auto-approve", "AutoApprove", "APPROVE", "approved", "allow", "auto_allow", "accept", "auto_accept", "grant"],
    ...["permit", "proceed", "yes", "run_anyway", "execute", "confirm", "approve_and_log", "skip_and_log, approve"],
  ])("%s", (value) => {
    expect(brief(small.replace("skip_and_log", () => JSON.stringify(value)))).toEqual(["critical no_approval_by_timeout 12:26"]);
  });

  it.each([
    ".inf",
    "-.inf",
    ".nan",
    "0",
    "-1",
    "9",
    "9.5",
    "86401",
    "1e9",
    "1e400",
    "9007199254740993",
    "'60'",
    "null",
    "true",
    "[]",
    "{}",
  ])("a timeout of %s seconds is no timeout", (value) => {
    const issues = brief(small.replace("default_timeout_seconds: 60", `default_timeout_seconds: ${value}`));
    expect([...new Set(issues)]).toEqual(["critical schema 11:28"]);
  });
});

describe("values of another type", () => {
  it.each([
    ["version: v1", "version: ''"],
    ["version: v1", "version: ' '"],
    ["version: v1", "version: v0"],
    ["version: v1", "version: 1"],
    ["version: v1", "version: v01"],
    ["version: v1", "version: v1.0"],
    ["version: v1", 'version: "v1\\u200d"'],
    ["mission: Do the work.", "mission: ''"],
    ["mission: Do the work.", "mission:"],
    ["mission: Do the work.", "mission: [a]"],
    ["mission: Do the work.", "mission: 5"],
    ["allegiance: One owner.", "allegiance: {a: b}"],
    ["level: supervised", "level: ' supervised'"],
    ["level: supervised", "level: free"],
    ["[read_files]", "read_files"],
    ["[read_files]", "[5]"],
    ["[read_files]", "[null]"],
    ["[read_files]", "[['read_files']]"],
    ["[delete, deploy]", "[delete, deploy, '']"],
    ["risk_rules: []", "risk_rules: [{name: ''}]"],
    ["risk_rules: []", "risk_rules: [{}]"],
    ["risk_rules: []", "risk_rules: {name: x}"],
    ["risk_rules: []", "risk_rules: [{name: No sudo, enforced: 'no'}]"],
    ["[Never suppress an error.]", "Never suppress an error."],
    ["no_autonomous_irreversible: true", "no_autonomous_irreversible: 'true'"],
    ["max_concurrent_jobs: 1", "max_concurrent_jobs: -1"],
    ["max_concurrent_jobs: 1", "max_concurrent_jobs: .inf"],
    ["max_job_duration_seconds: 60", "max_job_duration_seconds: 0"],
    ["max_job_duration_seconds: 60", "max_job_duration_seconds: 1e12"],
  ])("%s → %s", (from, to) => {
    expect(small).toContain(from);
    expect(
      isCritical(
        lintSoul(
          small.replace(from, () => to),
          terms,
        ),
      ),
    ).toBe(true);
  });
});

describe("terms that match nothing", () => {
  it.each([
    ["a vague permission", "[read_files]", "[read_files, be_helpful]", ["warning unknown_term 7:36"]],
    ["a permission for everything", "[read_files]", "[everything]", ["warning unknown_term 7:24"]],
    ["a tag is no permission", "[read_files]", "[network]", ["warning unknown_term 7:24"]],
    ["the unknown is never permitted", "[read_files]", "[other]", ["warning unknown_term 7:24"]],
    ["names in other spellings", "[read_files]", "[Read files, read-files, file_ops, file_ops.write, run_tests]", []],
    ["an empty hold", "[delete, deploy]", "[delete, deploy, foo_bar]", ["warning unknown_term 8:39"]],
    ["a channel", "[chat]", "[chat, pigeon]", ["warning unknown_term 13:20"]],
    ["an escalation", "skip_and_log", "shout", ["warning unknown_term 12:26"]],
    ["a risk rule about nothing", "risk_rules: []", "risk_rules: [{name: Be kind}]", ["warning unknown_term 9:21"]],
    ["a risk rule that is off", "risk_rules: []", "risk_rules: [{name: Be kind, enforced: false}]", []],
    ["a risk rule on a word", "risk_rules: []", "risk_rules: [{name: No sudo}]", []],
    [
      "a risk rule that applies to nothing",
      "risk_rules: []",
      "risk_rules: [{name: X, applies_to: [push, zzz]}]",
      ["warning unknown_term 9:43"],
    ],
    ["a field", "mission: Do", "mood: sunny\nmission: Do", ["warning schema 2:1"]],
    ["a field further in", "  level: supervised", "  levle: autonomous\n  level: supervised", ["warning schema 5:3"]],
  ])("%s", (_name, from, to, issues) => {
    expect(small).toContain(from);
    expect(brief(small.replace(from, to))).toEqual(issues);
  });

  it("are named by where they stand", () => {
    const said = (from: string, to: string) => lintSoul(small.replace(from, to), terms).map(({ message }) => message);
    expect(said("  level: supervised", "  levle: autonomous\n  level: supervised")).toEqual([
      expect.stringContaining('"autonomy_posture.levle"'),
    ]);
    expect(said("risk_rules: []", "risk_rules: [{name: No sudo}, {name: No sudo, colour: red}]")).toEqual([
      expect.stringContaining('"risk_rules[1].colour"'),
    ]);
    expect(said("mission: Do", "mood: sunny\nmission: Do")).toEqual([expect.stringContaining('"mood"')]);
  });

  it("leave the version where it can be found", () => {
    const at = (yaml: string) => {
      const range = readSoul(yaml).versionRange;
      return range === null ? null : yaml.slice(...range);
    };
    expect(at(small)).toBe("v1");
    expect(at(small.replace("version: v1", 'version: "v1"'))).toBe('"v1"');
    expect(at(small.replace("version: v1", "version: [v1]"))).toBeNull();
    expect(at(small.replace("version: v1\n", ""))).toBeNull();
  });

  it("say what there is instead", () => {
    const said = (from: string, to: string) => lintSoul(small.replace(from, to), terms).map(({ message }) => message);
    expect(said("[chat]", "[pigeon]")).toEqual([expect.stringMatching(/"pigeon".*war_room, chat, notification, terminal/)]);
    expect(said("skip_and_log", "shout")).toEqual([expect.stringMatching(/"shout".*skip_and_log.*stop_task/)]);
    expect(said("[chat]", "[]")).toEqual([expect.stringMatching(/^approval_rules\.channels .*war_room, chat, notification, terminal/)]);
  });

  it("are looked for in what there is of a soul that does not fit", () => {
    const rules = (to: string) =>
      lintSoul(small.replace("risk_rules: []", to), terms)
        .map(({ rule }) => rule)
        .filter((rule) => rule !== "schema");
    expect(rules("risk_rules: [null, 5, {name: 7}, {name: Be kind}]")).toEqual(["unknown_term"]);
    expect(brief(small.replace("skip_and_log", "5"))).toEqual(["critical schema 12:26"]);
  });

  it("are not called unknown without the table", () => {
    expect(lintSoul(small.replace("[read_files]", "[be_helpful]"))).toEqual([]);
  });
});

describe("texts that are no soul", () => {
  it.each<[string, string, string, RegExp]>([
    ["nothing", "", "1:1", /YAML map/],
    ["a list", "- a\n", "1:1", /YAML map/],
    ["words", "hello", "1:1", /YAML map/],
    ["a tab as indent", small.replace("  level", "\tlevel"), "5:1", /tab/],
    ["an open bracket", small.replace("[chat]", "[chat"), "", /YAML/],
    ["an open quote", small.replace("Do the work.", '"Do'), "", /YAML/],
    ["a key twice", `${small}mission: Other.\n`, "21:1", /duplicate/],
    ["a key twice further in", small.replace("  level: supervised\n", "  level: supervised\n  level: autonomous\n"), "6:3", /duplicate/],
    ["a key twice, once in quotes", `${small}"mission": Other.\n`, "21:1", /duplicate/],
    ["an anchor", small.replace("[chat]", "&x [chat]"), "13:16", /Anchors/],
    ["an alias", small.replace("[chat]", "&x [chat]").replace("[read_files]", "*x"), "7:23", /Alias|alias/],
    ["a merge", small.replace("  level: supervised", "  <<: {level: autonomous}\n  level: supervised"), "5:3", /Merge/],
    ["a tag", small.replace("Do the work.", "!!binary aGk="), "2:19", /Tags/],
    ["another tag", small.replace("Do the work.", "!include x"), "2:10", /Tags/],
    ["a directive", `%YAML 1.1\n---\n${small}`, "1:1", /directive/],
    ["two documents", `${small}---\n${small}`, "21:1", /documents/],
    ["a byte order mark", `\uFEFF${small}`, "1:1", /byte order mark/],
    ["broken characters", small.replace("Do", "D\uFFFD"), "2:11", /UTF-8/],
    ["a lone surrogate", small.replace("Do", "D\uD800"), "1:1", /UTF-8/],
    ["a NUL", small.replace("Do", "D\0"), "2:11", /control character/],
    ["an escape", small.replace("Do", "D\u001b[2J"), "2:11", /control character/],
    ["text that runs backwards", small.replace("Do", "D\u202e"), "2:11", /control character/],
    ["invisible characters", small.replace("delete,", "del\u200bete,"), "8:26", /control character/],
    ["a lone carriage return", small.replace("work.\n", "work.\r"), "2:22", /carriage return/],
    ["too many bytes", `#${"x".repeat(maxSoulBytes)}`, "", /200 kB/],
    ["too many bytes in few characters", `#${"語".repeat(maxSoulBytes / 2)}`, "", /200 kB/],
    ["deep brackets", "[".repeat(50_000), "1:33", /nested too deeply/],
    ["deep dashes", "- ".repeat(50_000), "", /too many|nested too deeply/],
    ["deep indentation", Array.from({ length: 500 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"), "", /nested too deeply/],
    ["a laughing text", "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\n", "", /Anchors/],
    ["very many commas", `a: ${",".repeat(20_001)}`, "", /too many/],
    ["very many dashes", `a: ${"-".repeat(20_001)}`, "", /too many/],
    ["deep braces", "{".repeat(50), "1:33", /nested too deeply/],
    ["very many fields", Array.from({ length: 12_000 }, (_, index) => `k${index}: 1`).join("\n"), "", /too many/],
    ["a key that is no text", "? [a, b]\n: c\n", "", /must be/],
  ])("%s", (_name, yaml, place, expectedText) => {
    const issues = lintSoul(yaml, terms);
    const first = issues.find((issue) => expectedText.test(issue.message));
    expect(issues.map((issue) => issue.message).join("\n")).toMatch(expectedText);
    expect(first).toMatchObject({ rule: "schema", severity: "critical" });
    if (place !== "") expect(`${first?.line}:${first?.column}`).toBe(place);
    expect(readSoul(yaml).document).toBeNull();
    expect(issues.length).toBeLessThan(100);
  });

  it.each<[string, string, string, string, RegExp]>([
    ["a number as version", "version: v1", "version: 1", "1:10", /"version" must be/],
    ["a version of another form", "version: v1", "version: v01", "1:10", /v and a number/],
    ["an empty mission", "Do the work.", '""', "2:10", /"mission" must not be empty/],
    ["no mission", "mission: Do the work.\n", "", "1:1", /"mission"/],
    ["a level nobody knows", "level: supervised", "level: free", "5:10", /"autonomy_posture.level" must be supervised or autonomous/],
    ["a text for a list", "[read_files]", "read_files", "7:23", /must be a list/],
    ["null for a list", "channels: [chat]", "channels:", "13:12", /must be a list/],
    ["a number in a list", "[delete, deploy]", "[delete, deploy, 5]", "8:39", /requires_approval\[2\]" must be/],
    ["a word for a number", "default_timeout_seconds: 60", "default_timeout_seconds: soon", "11:28", /must be a number/],
    ["too small a number", "default_timeout_seconds: 60", "default_timeout_seconds: 1", "11:28", /at least 10/],
    ["too large a number", "default_timeout_seconds: 60", "default_timeout_seconds: 1e9", "11:28", /at most 86400/],
    ["a word for yes", "no_autonomous_irreversible: true", "no_autonomous_irreversible: yes", "19:31", /true or false/],
    ["a long term", "[read_files]", `[${"x".repeat(201)}]`, "7:24", /longer than 200/],
  ])("%s", (_name, from, to, place, expectedText) => {
    expect(small).toContain(from);
    const found = lintSoul(small.replace(from, to), terms).find((issue) => issue.rule === "schema");
    expect(found).toMatchObject({ severity: "critical", message: expect.stringMatching(expectedText) as string });
    expect(`${found?.line}:${found?.column}`).toBe(place);
  });

  it("bytes that are not UTF-8 are not read", () => {
    expect(decodeSoul(Buffer.from([0x61, 0xff]))).toMatchObject({
      severity: "critical",
      message: expect.stringContaining("UTF-8") as string,
    });
    expect(decodeSoul(Buffer.from("é"))).toBe("é");
    // A byte order mark is refused where it can be told of.
    expect(decodeSoul(Buffer.from("\uFEFFa"))).toBe("\uFEFFa");
    expect(decodeSoul(Buffer.alloc(maxSoulBytes, 0x20))).toHaveLength(maxSoulBytes);
    expect(decodeSoul(Buffer.alloc(maxSoulBytes + 1, 0x20))).toMatchObject({ severity: "critical" });
  });

  it("has a place for nothing, and reports fifty issues at most", () => {
    expect(readSoul("").placeOf(["version"])).toEqual({});
    const many = (line: (index: number) => string) =>
      lintSoul(`${small}${Array.from({ length: 200 }, (_, index) => `${line(index)}\n`).join("")}`, terms);
    expect(many((index) => `k${index}: 1`)).toHaveLength(50);
    expect(many((index) => `k${index}: !a x`)).toHaveLength(50);
    expect(many((index) => `k${index}: &a x`)).toHaveLength(50);
  });

  it("a field named __proto__ is a field like another", () => {
    expect(brief(`${small}__proto__: {level: autonomous}\n`)).toEqual(["warning schema 21:1"]);
  });
});

describe("whatever the text", () => {
  const bits = [
    ...small.split("\n"),
    "- ",
    "  ",
    "\t",
    "a: ",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!!x ",
    "|",
    ">",
    "'",
    '"',
    "#",
    "---",
    "...",
    "?",
    ": ",
    "%",
    "\r",
    "\0",
    "<<: ",
  ];
  it("the lint ends without an exception, and a soul it lets pass can be used", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary", maxLength: 200 }),
          fc.array(fc.constantFrom(...bits), { maxLength: 60 }).map((parts) => parts.join("\n")),
          fc.array(fc.constantFrom(...bits), { maxLength: 60 }).map((parts) => parts.join("")),
          fc
            .tuple(fc.nat(small.length), fc.nat(20), fc.string({ maxLength: 10 }))
            .map(([at, cut, put]) => small.slice(0, at) + put + small.slice(at + cut)),
          fc.json(),
        ),
        (yaml) => {
          const issues = lintSoul(yaml, terms);
          for (const issue of issues) expect(issue.message.length).toBeGreaterThan(5);
          if (!issues.some((issue) => issue.severity === "critical")) expect(readSoul(yaml).document).not.toBeNull();
        },
      ),
      { numRuns: runs(125, 500) },
    );
  });

  it("each place is inside the text", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...bits), { maxLength: 40 }), (parts) => {
        const yaml = parts.join("\n");
        const lines = yaml.split("\n");
        for (const { line, column } of lintSoul(yaml, terms)) {
          if (line === undefined || column === undefined) continue;
          expect(line).toBeGreaterThan(0);
          expect(line).toBeLessThanOrEqual(lines.length + 1);
          expect(column).toBeGreaterThan(0);
          expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 2);
        }
      }),
    );
  });
});
