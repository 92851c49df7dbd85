import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { SoulDocument } from "../../../../agent-server/contract/soul.ts";
import type { ActiveSoul, SoulSubject } from "../../../../agent-server/governance/decision-facts.ts";
import { compileSoul } from "../../../../agent-server/governance/soul/compile-soul.ts";
import { readSoul } from "../../../../agent-server/governance/soul/soul-document.ts";
import { soulLine, soulPrompt } from "../../../../agent-server/governance/soul/soul-prompt.ts";
import { failClosedTerms, loadSoulTerms, parseSoulTerms, type SoulTerms } from "../../../../agent-server/governance/soul/soul-terms.ts";
import { type Kind, kinds, type Tag } from "../../../../agent-server/governance/action-vocabulary.ts";
import { createRedactor } from "../../../../agent-server/security/security.ts";
import { configDir, shippedSoul } from "../../../support/soul-fixture.ts";

const redactor = createRedactor();
let terms: SoulTerms;
let shipped: SoulDocument;
beforeAll(() => {
  terms = loadSoulTerms(configDir);
  shipped = readSoul(shippedSoul).document as SoulDocument;
});

function soul(more: Partial<SoulDocument> & { allowed?: string[]; requires?: string[] } = {}): ActiveSoul {
  const { allowed, requires, ...rest } = more;
  const posture = shipped.autonomy_posture;
  const document = {
    ...shipped,
    autonomy_posture: {
      ...posture,
      allowed_autonomous: allowed ?? posture.allowed_autonomous,
      requires_approval: requires ?? posture.requires_approval,
    },
    ...rest,
  };
  return compileSoul({ version: "v1", yaml: JSON.stringify(document), document }, terms, redactor);
}

function subject(kind: Kind, tags: readonly Tag[] = [], capability = "x", action = "y"): SoulSubject {
  return { kind, capability, action, tags };
}

const read = subject("read_files", ["read"], "file_ops", "read");
const edit = subject("edit_files", ["write"], "file_ops", "write");
const editOutside = subject("edit_files", ["write", "outside"], "file_ops", "write");
const remove = subject("delete_files", ["write", "delete"], "file_ops", "delete");
const rm = subject("run_commands", ["shell", "delete", "destroy"], "shell_exec", "run");
const drop = subject("run_commands", ["shell", "database", "drop"], "shell_exec", "run");
const push = subject("push", ["push", "network"], "repo_ops", "push");
const pushByShell = subject("run_commands", ["shell", "push", "network"], "shell_exec", "run");
const deploy = subject("deploy", ["deploy"], "deploy_ops", "deploy");
const post = subject("post", ["network", "upload"], "web_ops", "post");
const send = subject("send_messages", ["connector"], "connector", "send");
const ls = subject("run_commands", ["shell", "read"], "shell_exec", "run");

describe("what requires_approval holds", () => {
  it.each<[string, SoulSubject[], SoulSubject[]]>([
    ["delete", [remove, rm, drop], [edit, push, read, ls]],
    ["delete_production_data", [remove, rm], [edit, read]],
    ["Deleting anything at all", [remove, rm], [edit, read]],
    ["dropTables", [drop, remove], [edit]],
    ["wipe", [rm, remove], [ls]],
    ["deploy", [deploy], [push, edit]],
    ["production", [deploy], [edit]],
    ["git push --force", [push, pushByShell], [edit, remove]],
    ["push", [push, pushByShell], [edit]],
    ["http_post", [post], [read]],
    ["send an e-mail", [send], [post, edit]],
    ["outside_workspace", [editOutside], [edit, read]],
    ["write_outside_workspace", [editOutside], [edit]],
    ["edit_files", [edit, editOutside], [read, ls]],
    ["edit files and push", [edit, push], [read]],
    ["run_commands", [ls, rm, drop], [edit]],
    ["shell", [ls], [edit]],
    ["read_files", [read], [edit]],
    ["file_ops", [read, edit, remove], [push]],
    ["file_ops.write", [edit], [read, remove]],
    ["database", [drop], [rm, edit]],
    ["everything", [read, edit, ls, push], []],
    ["anything", [read, edit], []],
    ["be careful", [], [read, edit, remove, rm]],
  ])("%s", (term, held, free) => {
    const { requiresApproval } = soul({ requires: ["zzz", term] });
    for (const one of held) expect(requiresApproval(one), `${one.kind} ${one.tags.join()}`).toBe(term);
    for (const one of free) expect(requiresApproval(one), `${one.kind} ${one.tags.join()}`).toBeNull();
  });
});

describe("what allowed_autonomous permits", () => {
  it.each<[string, SoulSubject[], SoulSubject[]]>([
    ["read_files", [read], [edit, ls, remove]],
    ["Read files", [read], [edit]],
    ["edit-files", [edit], [read]],
    ["run_tests", [subject("build_and_test")], [ls]],
    ["file_ops", [read, edit, remove], [ls]],
    ["file_ops.write", [edit], [read, remove]],
    ["read_project_files", [], [read]],
    ["edit", [edit], [remove]],
    ["everything", [], [read, edit, ls]],
    ["write", [], [edit]],
    ["shell", [ls], [edit]],
    ["other", [], [subject("other")]],
    ["file_ops.*", [], [read]],
    ["unknown_ops.run", [], [subject("other", [], "unknown_ops", "run")]],
    ["file_ops.9x", [], [subject("other", [], "file_ops", "9x")]],
    ["file_ops.x9", [], [subject("other", [], "file_ops", "x9")]],
    ["", [], [read]],
  ])("%s", (term, permitted, not) => {
    const { allows } = soul({ allowed: [term] });
    for (const one of permitted) expect(allows(one)).toBe(term);
    for (const one of not) expect(allows(one)).toBeNull();
  });
});

describe("the soul that ships", () => {
  it("permits what ordinary work needs, and holds what cannot be undone", () => {
    const active = soul();
    const ordinary: Kind[] = [
      "read_files",
      "search_files",
      "edit_files",
      "run_commands",
      "read_repository",
      "commit",
      "branch",
      "checkout",
      "apply_patch",
    ];
    ordinary.push(
      "fetch_pages",
      "download",
      "screenshot",
      "scaffold",
      "build_and_test",
      "see_screen",
      "read_memory",
      "write_memory",
      "plan",
    );
    for (const kind of ordinary) {
      expect(active.allows(subject(kind)), kind).toBe(kind);
      expect(active.requiresApproval(subject(kind)), kind).toBeNull();
    }
    for (const kind of kinds) if (!ordinary.includes(kind)) expect(active.allows(subject(kind)), kind).toBeNull();
    const held: SoulSubject[] = [remove, rm, drop, push, pushByShell, deploy, post, send, editOutside, subject("act_on_screen")];
    for (const tag of ["delete", "destroy", "drop", "deploy", "publish", "push", "upload", "credentials", "outside", "history"] as const)
      held.push(subject("run_commands", ["shell", tag]));
    for (const one of held) expect(active.requiresApproval(one), `${one.kind} ${one.tags.join()}`).not.toBeNull();
    for (const [tag, name] of [
      ["privilege", "Administrator rights"],
      ["system", "The machine itself"],
      ["settings", "What later commands do"],
    ] as const)
      expect(active.riskRules(subject("run_commands", [tag])).map((rule) => rule.name)).toEqual([name]);
    expect(active.riskRules(edit)).toEqual([]);
    expect(
      active.riskRules(subject("run_commands", ["shell", "read", "write", "build", "test", "install", "execute", "commit", "network"])),
    ).toEqual([]);
    expect(active.tone).toEqual({ noSilentFailure: true, sourcesRequired: true });
  });

  it("cannot be changed in memory", () => {
    const { document, sha256 } = soul();
    for (const part of [document, document.autonomy_posture, document.risk_rules, document.risk_rules[0], document.scheduling_boundaries])
      expect(Object.isFrozen(part)).toBe(true);
    expect(() => document.autonomy_posture.requires_approval.pop()).toThrow(TypeError);
    expect(sha256).toBe(createHash("sha256").update(JSON.stringify(document)).digest("hex"));
  });
});

describe("risk rules", () => {
  const rule = (more: Record<string, unknown>) =>
    soul({ risk_rules: [{ name: "Rule", description: "Why.", enforced: true, ...more }] }).riskRules;
  it("ask where applies_to says, or the words of the name", () => {
    expect(rule({ applies_to: ["push"] })(push)).toEqual([{ name: "Rule", description: "Why." }]);
    expect(rule({ applies_to: ["push"] })(edit)).toEqual([]);
    expect(rule({ name: "No pushing on Fridays" })(push)).toHaveLength(1);
    expect(rule({ name: "No pushing", applies_to: ["edit_files"] })(push)).toEqual([]);
    expect(rule({ applies_to: ["push"], enforced: false })(push)).toEqual([]);
  });
});

describe("what memory may not hold", () => {
  const token = `ghp_${"a1B2".repeat(9)}`;
  it.each<[string, string, RegExp | null]>([
    ["Never store secrets.", `the token is ${token}`, /a secret.*Never store secrets/],
    ["Never store secrets.", "the build takes two minutes", null],
    ["Never store secrets.", "write to anna@firma.de", null],
    ["Be kind.", `the token is ${token}`, null],
    ["No personal data.", "write to anna.b+c@mail.firma.de please", /email/],
    ["No personal data.", "ａｎｎａ＠ｆｉｒｍａ.de", /email/],
    ["No personal data.", "call +49 (30) 123456-78", /phone/],
    ["No personal data.", "call 0049 30 12345678", /phone/],
    ["No financial data.", "IBAN DE89 3704 0044 0532 0130 00", /IBAN/],
    ["No PII.", "GB29NWBK60161331926819", /IBAN/],
    ["No private data.", "card 4111 1111 1111 1111 exp 12/30", /card/],
    ["No private data.", "card 3782-822463-10005", /card/],
    // Ordinary words of a project.
    ["No personal data.", "git clone git@github.com:a/b.git", null],
    ["No personal data.", "mail to user@example.com or a@b.test", null],
    ["No personal data.", "noreply@github.com and 12+anna@users.noreply.github.com", null],
    ["No personal data.", "import x from '@scope/pkg@1.2.3'; decorators @Injectable", null],
    ["No personal data.", "built at 2026-11-21T21:00:00+00:00, took 1234567890123 ns, +1,234,567", null],
    ["No personal data.", "sha256 9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0", null],
    ["No personal data.", "id 4111111111111112, version 10.20.30.40, port 65535, 3.141592653589793", null],
    ["No personal data.", "DE89370400440532013001 is a wrong check digit", null],
    ["No personal data.", "+123 and +12345 lines; offset +0x1234567890", null],
    // By length: a telephone number has 9 to 15 digits.
    ["No personal data.", "+12345678", null],
    ["No personal data.", "+123456789", /phone/],
    ["No personal data.", "+123456789012345", /phone/],
    ["No personal data.", "001 212555123456", /phone/],
    ["No personal data.", "001 2125551234567", null],
    ["No personal data.", "+49 30 1\u200b2345678", /phone/],
    // By whose it is: remotes and addresses for examples are nobody's, what only looks like one is somebody's.
    ["No personal data.", "git@firma.de", null],
    ["No personal data.", "legit@firma.de", /email/],
    ["No personal data.", "a@mail.example.com, a@example, a@b.example, a@example.org", null],
    ["No personal data.", "a@example.com.evil.de", /email/],
    ["No personal data.", "a@myexample.com", /email/],
    ["No personal data.", "a@b.test.de", /email/],
    ["No personal data.", "no-reply@firma.de, donotreply@firma.de", null],
    ["No personal data.", "anna-noreply@firma.de", /email/],
  ])("%s %s", (sentence, content, expectedText) => {
    const found = soul({ memory_ethics: [sentence] }).forbidsMemory(content);
    if (expectedText === null) expect(found).toBeNull();
    else expect(found).toMatchObject({ rule: "soul.memory-ethics", message: expect.stringMatching(expectedText) as string });
  });
});

describe("what a sentence leaves to the owner", () => {
  const token = `ghp_${"a1B2".repeat(9)}`;
  it.each<[readonly string[], string, boolean]>([
    [["Never store personal data, unless the owner asks for it."], "mail anna@firma.de", true],
    [["Never store personal data without the owner's consent."], "mail anna@firma.de", true],
    [["No telephone numbers until I tell you to."], "call +49 30 12345678", true],
    [["Never store personal data."], "mail anna@firma.de", false],
    [["Never store personal data of the owner's customers, unless it is public."], "mail anna@firma.de", false],
    // The strictest of several counts, in whatever order they stand.
    [["No personal data, unless the owner asks for it.", "No bank accounts."], "mail anna@firma.de", false],
    [["No bank accounts.", "No personal data, unless the owner asks for it."], "mail anna@firma.de", false],
    // A secret is left to nobody.
    [["Never store secrets or personal data, unless the owner asks for it."], `the token is ${token}`, false],
  ])("%j, %s: %s", (sentences, content, personal) => {
    expect(soul({ memory_ethics: [...sentences] }).forbidsMemory(content)).toMatchObject({ personal });
  });
});

describe("card numbers", () => {
  const check = (text: string) => soul({ memory_ethics: ["No financial data."] }).forbidsMemory(text);
  it.each([
    ["Visa, 13", "4963074185294"],
    ["Visa, 16", "4963074185296300"],
    ["Visa, 19", "4963074185296307411"],
    ["Mastercard, 51", "5196307418529634"],
    ["Mastercard, 55", "5596307418529630"],
    ["Mastercard, 22", "2296307418529630"],
    ["Mastercard, 27", "2796307418529635"],
    ["American Express, 34", "349630741852960"],
    ["American Express, 37", "379630741852963"],
    ["Diners, 300", "30096307418527"],
    ["Diners, 305", "30596307418526"],
    ["Diners, 36", "36963074185296"],
    ["Diners, 38", "38963074185294"],
    ["Discover, 6011", "6011963074185292"],
    ["Discover, 649", "6496307418529639"],
    ["Discover, 65", "6509630741852963"],
    ["JCB, 35", "3596307418529635"],
  ])("%s: %s is one, and with another last digit is none", (_name, number) => {
    expect(check(`pay with ${number}.`)?.message).toContain("a card number");
    const other = `${number.slice(0, -1)}${(Number(number.at(-1)) + 1) % 10}`;
    expect(check(`pay with ${other}.`)).toBeNull();
  });

  it.each([
    "49630741852963",
    "496307418529632",
    "49630741852963077",
    "5096307418529635",
    "5696307418529639",
    "2196307418529631",
    "2896307418529634",
    "359630741852967",
    "30696307418524",
    "37963074185295",
    "6012963074185291",
    "529630741852962",
    "52963074185296309",
    "369630741852965",
    "35319630741852962",
    "60119630741852962",
  ])("%s has the right check digit, but no card has such a beginning or length", (number) => {
    expect(check(number)).toBeNull();
  });
});

describe("tone", () => {
  it.each<[string[], boolean, boolean]>([
    [["Never suppress errors."], true, false],
    [["No silent degradation."], true, false],
    [["Failures are not hidden."], true, false],
    [["Errors are quoted.", "Nothing is suppressed."], false, false],
    [["Cite what you found."], false, true],
    [["Every finding has its source."], false, true],
    [["Name the URLs."], false, true],
    [["Be brief.", "Give a url.", "Never hide a failure."], true, true],
    [["A citation for each claim."], false, true],
    [["Use open-source and resources."], false, true],
    [["Excite the reader."], false, false],
  ])("%j", (tone_invariants, noSilentFailure, sourcesRequired) => {
    expect(soul({ tone_invariants }).tone).toEqual({ noSilentFailure, sourcesRequired });
  });
});

describe("the prompt", () => {
  it("says what the soul says, the same each time", () => {
    const text = soulPrompt(soul());
    expect(text).toBe(soulPrompt(soul()));
    for (const part of [
      "soul v1",
      "Mission: Do the owner's engineering work",
      "Allegiance: Lancelot serves one owner",
      "The posture setting of the editor decides",
      "edit_files, run_commands",
      "before: delete, destroy, drop, deploy",
      "- Administrator rights: Gaining",
      "- No silent degradation.",
      "- Never store secrets",
      "ledger that the owner can verify",
    ])
      expect(text).toContain(part);
    expect(text.length).toBeLessThan(6_000);
    expect(soulLine(soul())).toBe(
      "The owner is asked before you delete, destroy, drop, deploy, publish, push, post, upload. Never hide a failure.",
    );
  });

  it("leaves out rules that are off, and is bounded", () => {
    const rule = { name: "Nothing", description: "", enforced: false };
    const long = soul({
      risk_rules: [rule],
      tone_invariants: Array.from({ length: 300 }, (_, index) => `Sentence ${index} ${"x".repeat(100)}`),
    });
    expect(soulPrompt(long)).not.toContain("Nothing");
    expect(soulPrompt(long)).toMatch(/… and 2\d\d more in the soul itself/);
    expect(soulPrompt(long).length).toBeLessThan(8_000);
  });
});

describe("words of a term", () => {
  it.each([
    ["everything or edit", "edit_files", true],
    ["nonsense or push", "push", true],
    ["nonsense/push", "push", true],
    ["push", "edit_files", false],
    ["  push  ", "push", true],
    ["ｐｕｓｈ", "push", true],
    ["gitPush", "push", true],
    ["unpushed", "push", false],
  ] as const)("%s is about %s: %s", (term, kind, about) => {
    expect(soul({ requires: [term] }).requiresApproval(subject(kind, kind === "push" ? ["push"] : [])) !== null).toBe(about);
  });

  it("add up: whatever one of them covers", () => {
    const own = parseSoulTerms(
      "soul_terms: {names: [{kinds: [plan], terms: [think]}], words: [{words: [push], tags: [push], match: [push], not_match: [x]}, {words: [del*], kinds: [delete_files], tags: [delete], match: [delete it], not_match: [x]}, {words: [all], everything: true, match: [all], not_match: [x]}]}",
    );
    expect(own.approvalCoverage("push and deleting")).toEqual({
      everything: false,
      kinds: new Set(["delete_files"]),
      tags: new Set(["push", "delete"]),
      capabilities: new Set(),
      actions: new Set(),
    });
    expect(own.approvalCoverage("push, all")?.everything).toBe(true);
    expect(own.approvalCoverage("all, push")?.everything).toBe(true);
    expect(own.autonomousCoverage("think")).toEqual({
      everything: false,
      kinds: new Set(["plan"]),
      tags: new Set(),
      capabilities: new Set(),
      actions: new Set(),
    });
    expect(own.autonomousCoverage("file_ops")?.capabilities).toEqual(new Set(["file_ops"]));
    expect(own.autonomousCoverage("edit  files")?.kinds).toEqual(new Set(["edit_files"]));
    expect(own.approvalCoverage("file_ops")?.capabilities).toEqual(new Set(["file_ops"]));
    expect(own.approvalCoverage("file_ops.write")).toMatchObject({ actions: new Set(["file_ops.write"]), tags: new Set() });
    for (const nothing of ["other", ".read", "file_ops.", "network"]) expect(own.autonomousCoverage(nothing), nothing).toBeNull();
    expect(own.approvalCoverage("nonsense")).toBeNull();
  });
});

describe("the table of words", () => {
  const row = "{words: [push], tags: [push], match: [push], not_match: [pull]}";
  it.each([
    [
      "an example that does not match",
      "soul_terms: {names: [], words: [{words: [push], tags: [push], match: [pull], not_match: [x]}]}",
      /"pull"/,
    ],
    [
      "an example that must not match",
      "soul_terms: {names: [], words: [{words: [push], tags: [push], match: [push], not_match: [git push]}]}",
      /"git push"/,
    ],
    ["a tag nobody knows", "soul_terms: {names: [], words: [{words: [push], tags: [shove], match: [push], not_match: [x]}]}", /malformed/],
    ["a name twice", `soul_terms: {names: [{kinds: [plan], terms: [a]}, {kinds: [push], terms: [A]}], words: [${row}]}`, /"A" twice/],
    ["a name for the unknown", `soul_terms: {names: [{kinds: [other], terms: [a]}], words: [${row}]}`, /malformed/],
    ["no table", "other: 1", /malformed/],
    ["no YAML", "soul_terms: [", /malformed/],
  ])("%s is refused", (_name, text, expectedText) => {
    expect(() => parseSoulTerms(text)).toThrow(expectedText);
  });

  it("may stand beside other tables", () => {
    expect(parseSoulTerms(`trust: {}\nsoul_terms: {names: [], words: [${row}]}`).approvalCoverage("push it")).not.toBeNull();
  });

  it("that cannot be read holds everything and permits nothing", () => {
    expect(() => loadSoulTerms("/nowhere")).toThrow(
      expect.objectContaining({
        code: "internal",
        message: expect.stringContaining("config/governance.yaml") as string,
        cause: expect.objectContaining({ code: "ENOENT" }) as Error,
      }) as Error,
    );
    const closed = compileSoul({ version: "v1", yaml: "", document: shipped }, failClosedTerms, redactor);
    expect(closed.requiresApproval(read)).toBe("delete");
    expect(closed.allows(read)).toBeNull();
  });
});
