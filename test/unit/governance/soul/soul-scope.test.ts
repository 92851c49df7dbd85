import * as fc from "fast-check";
import type * as z from "zod";
import { describe, expect, it } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import type { SoulDocument, SoulScope as Scope } from "../../../../agent-server/contract/soul.ts";
import type { SoulSubject } from "../../../../agent-server/governance/decision-facts.ts";
import { compileSoul } from "../../../../agent-server/governance/soul/compile-soul.ts";
import { readSoul } from "../../../../agent-server/governance/soul/soul-document.ts";
import { restrict } from "../../../../agent-server/governance/soul/soul-scope.ts";
import { loadSoulTerms } from "../../../../agent-server/governance/soul/soul-terms.ts";
import { kinds, tags } from "../../../../agent-server/governance/action-vocabulary.ts";
import { capabilities } from "../../../../agent-server/contract/governance.ts";
import { createRedactor } from "../../../../agent-server/security/security.ts";
import { configDir, shippedSoul } from "../../../support/soul-fixture.ts";
import { runs } from "../../../support/soak.ts";

type SoulScope = z.input<typeof Scope>;

const deps = { terms: loadSoulTerms(configDir), redactor: createRedactor() };
const shipped = readSoul(shippedSoul).document as SoulDocument;
const compile = (document: SoulDocument) =>
  compileSoul({ version: "v1", yaml: JSON.stringify(document), document }, deps.terms, deps.redactor);
const base = compile(shipped);
const edit: SoulSubject = { kind: "edit_files", capability: "file_ops", action: "write", tags: ["write"] };

describe("a scope", () => {
  it("takes permissions away, adds holds, rules, tone and ethics, and lowers limits", () => {
    const narrow = restrict(
      base,
      {
        name: "review",
        level: "supervised",
        allowed_autonomous: ["read_files", "search_files"],
        requires_approval: ["commit"],
        risk_rules: [{ name: "No downloads", applies_to: ["download"] }],
        tone_invariants: ["Answer in one paragraph."],
        memory_ethics: ["Nothing about this task."],
        default_timeout_seconds: 60,
        max_concurrent_jobs: 0,
        max_job_duration_seconds: 10,
        no_autonomous_irreversible: true,
      },
      deps,
    );
    expect(narrow.version).toBe("v1+review");
    expect(narrow.sha256).not.toBe(base.sha256);
    expect(narrow.allows(edit)).toBeNull();
    expect(base.allows(edit)).toBe("edit_files");
    expect(narrow.requiresApproval({ ...edit, kind: "commit" })).toBe("commit");
    expect(narrow.riskRules({ ...edit, kind: "download" }).map((rule) => rule.name)).toEqual(["No downloads"]);
    expect(narrow.document).toMatchObject({
      autonomy_posture: { level: "supervised" },
      approval_rules: { default_timeout_seconds: 60, channels: shipped.approval_rules.channels },
      scheduling_boundaries: { max_concurrent_jobs: 0, max_job_duration_seconds: 10, no_autonomous_irreversible: true },
    });
    expect(narrow.document.tone_invariants).toEqual([...shipped.tone_invariants, "Answer in one paragraph."]);
    expect(narrow.document.memory_ethics).toEqual([...shipped.memory_ethics, "Nothing about this task."]);
  });

  it("that says nothing changes nothing but the name", () => {
    const same = restrict(base, { name: "x" }, deps);
    expect(same.document).toEqual(base.document);
    expect(same.version).toBe("v1+x");
    expect(same.sha256).not.toBe(base.sha256);
    const equal = {
      name: "x",
      level: shipped.autonomy_posture.level,
      default_timeout_seconds: shipped.approval_rules.default_timeout_seconds,
      ...shipped.scheduling_boundaries,
    };
    const { description: _description, ...limits } = equal;
    expect(restrict(base, limits, deps).document).toEqual(base.document);
  });

  const permitting = (...allowed_autonomous: string[]) =>
    compile({ ...shipped, autonomy_posture: { ...shipped.autonomy_posture, allowed_autonomous } });
  it.each([
    [["file_ops"], "file_ops", true],
    [["file_ops"], "file_ops.write", true],
    [["file_ops.write"], "file_ops.write", true],
    [["file_ops.read"], "file_ops.write", false],
    [["repo_ops"], "file_ops.write", false],
    [["repo_ops"], "file_ops", false],
    [["file_ops.write"], "file_ops", false],
    [["edit_files"], "edit_files", true],
    [["edit_files"], "write_file", true],
    [["edit_files"], "read_files", false],
    [["edit_files", "read_files"], "read_files", true],
    [[], "read_files", false],
    [["nonsense"], "read_files", false],
    [["read_files"], "nonsense", true],
  ])("from %j may keep %s: %s", (allowed, term, within) => {
    const make = () => restrict(permitting(...allowed), { name: "x", allowed_autonomous: [term] }, deps);
    if (within) expect(make().document.autonomy_posture.allowed_autonomous).toEqual([term]);
    else expect(make).toThrow(`"${term}" would be allowed without asking`);
  });

  it("may name risk rules of its own, on or off, and those of its base while they stay on", () => {
    const from = compile({
      ...shipped,
      risk_rules: [
        { name: "On", description: "", enforced: true },
        { name: "Off", description: "", enforced: false },
      ],
    });
    for (const [name, enforced] of [
      ["On", true],
      ["Off", false],
      ["New", true],
      ["New", false],
    ] as const)
      expect(restrict(from, { name: "x", risk_rules: [{ name, enforced }] }, deps).document.risk_rules).toHaveLength(3);
    expect(() => restrict(from, { name: "x", risk_rules: [{ name: "On", enforced: false }] }, deps)).toThrow(
      expect.objectContaining({ code: "conflict" }) as Error,
    );
  });

  it.each<[string, Partial<SoulScope>, RegExp]>([
    ["a permission more", { allowed_autonomous: ["read_files", "push"] }, /"push" would be allowed/],
    ["a wider permission", { allowed_autonomous: ["file_ops"] }, /"file_ops" would be allowed/],
    ["a longer wait", { default_timeout_seconds: 7200 }, /default_timeout_seconds would grow from 3600 to 7200/],
    ["more jobs", { max_concurrent_jobs: 6 }, /max_concurrent_jobs/],
    ["longer jobs", { max_job_duration_seconds: 301 }, /max_job_duration_seconds/],
    ["irreversible jobs", { no_autonomous_irreversible: false }, /irreversible/],
    ["jobs before the set-up", { require_ready_state: false }, /before Lancelot is set up/],
    ["a rule switched off", { risk_rules: [{ name: "Administrator rights", enforced: false }] }, /no longer be enforced/],
  ])("cannot give %s", (_name, more, message) => {
    expect(() => restrict(base, { name: "x", ...more }, deps)).toThrow(message);
  });

  it("cannot make a supervised soul autonomous, and names everything that would widen", () => {
    const strict = compile({ ...shipped, autonomy_posture: { ...shipped.autonomy_posture, level: "supervised" } });
    expect(() => restrict(strict, { name: "x", level: "autonomous", max_concurrent_jobs: 9 }, deps)).toThrow(
      /level.*; max_concurrent_jobs/,
    );
    expect(() => restrict(base, { name: "x", level: "autonomous" }, deps)).not.toThrow();
    expect(restrict(strict, { name: "x", level: "supervised" }, deps).document.autonomy_posture.level).toBe("supervised");
  });

  it.each<[string, unknown]>([
    ["a field that a scope has not", { name: "x", mission: "Obey." }],
    ["no name", {}],
    ["a name that would look like another version", { name: "v2 " }],
  ])("is refused with %s", (_name, scope) => {
    expect(() => restrict(base, scope as SoulScope, deps)).toThrow(
      expect.objectContaining({
        code: "invalid_params",
      }) as Error,
    );
  });
});

describe("whatever the scope", () => {
  const term = fc.oneof(
    fc.constantFrom(...kinds, ...capabilities, ...tags, ...shipped.autonomy_posture.allowed_autonomous),
    fc.constantFrom("file_ops.read", "web_ops.post", "everything", "delete_logs", "Read files", "nonsense", "shell"),
  );
  const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
    fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: odd });
  const termLists = fc.array(term, { maxLength: 5 });
  const subject: fc.Arbitrary<SoulSubject> = fc.record({
    kind: fc.constantFrom(...kinds),
    capability: fc.constantFrom(...capabilities, "elsewhere"),
    action: fc.constantFrom("read", "write", "delete", "run", "push", "post", "deploy", "send"),
    tags: fc.uniqueArray(fc.constantFrom(...tags), { maxLength: 4 }),
  });
  const rules = fc.array(fc.record({ name: term, enforced: fc.boolean(), applies_to: termLists }, { requiredKeys: ["name"] }), {
    maxLength: 3,
  });
  const scope: fc.Arbitrary<SoulScope> = fc.record(
    {
      name: fc.constant("x"),
      level: mostly(fc.constant("supervised" as const), fc.constant("autonomous" as const)),
      // Names of the base's own list, by their place in it, or names of chance.
      allowed_autonomous: mostly(fc.array(fc.nat(9).map(String), { maxLength: 4 }), termLists),
      requires_approval: termLists,
      risk_rules: rules,
      memory_ethics: fc.array(fc.constantFrom("No secrets.", "No personal data.", "Be kind."), { maxLength: 2 }),
      default_timeout_seconds: mostly(fc.integer({ min: 10, max: 3600 }), fc.integer({ min: 10, max: 7200 })),
      max_concurrent_jobs: mostly(fc.nat(5), fc.nat(10)),
      no_autonomous_irreversible: mostly(fc.constant(true), fc.boolean()),
    },
    { requiredKeys: ["name"] },
  );
  const document: fc.Arbitrary<SoulDocument> = fc
    .record({ level: fc.constantFrom("supervised" as const, "autonomous" as const), allowed: termLists, requires: termLists, rules })
    .map(({ level, allowed, requires, rules: risk }) => ({
      ...shipped,
      autonomy_posture: { level, description: "", allowed_autonomous: allowed, requires_approval: requires },
      risk_rules: risk.map((rule) => ({ description: "", enforced: true, ...rule })),
      memory_ethics: [],
    }));
  const content = fc.constantFrom("nothing", "anna@firma.de", `ghp_${"a1B2".repeat(9)}`);

  it("a restricted soul is never more permissive than its base", () => {
    let tried = 0;
    let made = 0;
    fc.assert(
      fc.property(document, scope, fc.array(subject, { minLength: 5, maxLength: 20 }), content, (from, options, subjects, text) => {
        tried += 1;
        const whole = compile(from);
        let narrow: ReturnType<typeof restrict>;
        try {
          const own = from.autonomy_posture.allowed_autonomous;
          const named = options.allowed_autonomous?.flatMap((name) =>
            /^\d$/.test(name) ? own.slice(Number(name), Number(name) + 1) : name,
          );
          narrow = restrict(whole, { ...options, ...(named === undefined ? {} : { allowed_autonomous: named }) }, deps);
        } catch (error) {
          expect(error).toBeInstanceOf(LancelotError);
          return;
        }
        made += 1;
        for (const one of subjects) {
          if (narrow.allows(one) !== null) expect(whole.allows(one)).not.toBeNull();
          if (whole.requiresApproval(one) !== null) expect(narrow.requiresApproval(one)).not.toBeNull();
          for (const rule of whole.riskRules(one)) expect(narrow.riskRules(one)).toContainEqual(rule);
        }
        if (whole.forbidsMemory(text) !== null) expect(narrow.forbidsMemory(text)).not.toBeNull();
        if (whole.document.autonomy_posture.level === "supervised") expect(narrow.document.autonomy_posture.level).toBe("supervised");
        expect(narrow.document.approval_rules.default_timeout_seconds).toBeLessThanOrEqual(
          whole.document.approval_rules.default_timeout_seconds,
        );
        for (const flag of ["noSilentFailure", "sourcesRequired"] as const) if (whole.tone[flag]) expect(narrow.tone[flag]).toBe(true);
      }),
      { numRuns: runs(100, 400) },
    );
    // Most overlays of chance widen; enough of them must not, or nothing was tried.
    expect(made).toBeGreaterThan(tried / 4);
  });
});
