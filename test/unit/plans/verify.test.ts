import { describe, expect, it } from "vitest";
import type { Evidence } from "../../../agent-server/plans/evidence.ts";
import { verifyStep } from "../../../agent-server/plans/verify.ts";

interface Facts {
  /** Commands in their order, as [text, exit code, output]. `edit path` stands for an edit. */
  ran?: (readonly [text: string, exitCode: number | null, output?: string] | `edit ${string}`)[];
  files?: Record<string, string>;
  /** Paths of files with new errors in the editor. */
  errors?: string[];
}

function evidenceOf({ ran = [], files = {}, errors = [] }: Facts): Evidence {
  const newErrors = errors.map((path) => ({ path, line: 3, severity: "error" as const, message: "No such name" }));
  const commands: Evidence["commands"][number][] = [];
  const edits: { path: string; order: number }[] = [];
  ran.forEach((one, order) => {
    if (typeof one === "string") edits.push({ path: one.slice(5), order });
    else commands.push({ text: one[0], exitCode: one[1], output: one[2] ?? "", order, receiptId: `r${String(order)}` });
  });
  return { commands, edits, newErrors, readFile: (path) => Promise.resolve(files[path] ?? null) };
}

const ok = "Tests  3 passed (3)";
const bad = "Tests  1 failed | 2 passed (3)";
type Case = [criterion: string, facts: Facts];

/** The model says "done"; the evidence says otherwise. */
const lies: Case[] = [
  ["`npm test` passes", {}],
  ["`npm test` passes", { ran: [["npm test", 1]] }],
  ["`npm test` passes", { ran: [["npm test", null]] }],
  ["`npm test` passes", { ran: [["npm test", 1, ok]] }],
  ["`npm test` passes", { ran: [["npm test", 0, bad]] }],
  ["`npm test` passes", { ran: [["npm test", 0, ok], "edit a.ts"] }],
  [
    "`npm test` passes",
    {
      ran: [
        ["npm test", 0, ok],
        ["npm test", 1, bad],
      ],
    },
  ],
  ["`npm test` passes", { ran: [["npm test || true", 0, ok]] }],
  ["`npm test` passes", { ran: [["npm test | tail", 0, ok]] }],
  ["`npm test` passes", { ran: [["echo npm test", 0, "npm test"]] }],
  ["`npm test` passes", { ran: [["npm test -- one.test.ts", 0, ok]] }],
  ["npm test passes", { ran: [["npm run test2", 0, ok]] }],
  ["npm test passes.", { ran: [["npm test", 0, "no tests ran in 0.01s"]] }],
  ["`pytest` passes", { ran: [["pytest", 0, "1 failed, 4 passed in 0.1s"]] }],
  ["`pytest` passes", { ran: [["pytest", 5, "no tests ran in 0.01s"]] }],
  ["pytest passes", { ran: [["pytest -k one", 0, "1 passed in 0.1s"]] }],
  ["`go test ./...` passes", { ran: [["go test ./...", 0, "FAIL\texample.com/a [build failed]"]] }],
  ["`cargo test` succeeds", { ran: [["cargo test", 101, "error: could not compile `a`"]] }],
  ["`npm run build` exits with 0", { ran: [["npm run build", 2]] }],
  ["`npm run build` exits with code 0", { ran: ["edit a.ts"] }],
  ["running `make` succeeds", { ran: [["make", 2]] }],
  ["`tsc` runs without errors", { ran: [["tsc", 1]] }],
  ["`tsc` is green", { ran: [["tsc", 0], "edit b.ts"] }],
  ["all tests pass", {}],
  ["All tests pass.", { ran: [["npm test", 0, "All 42 tests pass"]] }],
  ["tests pass", { ran: [["npm test", 0, bad]] }],
  ["the existing tests still pass", { ran: [["npm test", 1, bad]] }],
  ["all 42 tests pass", { ran: [["npm test", 0, ok]] }],
  ["3 tests pass", { ran: [["npm test", 0, "Tests  2 passed | 1 skipped (3)"]] }],
  ["the tests pass", { ran: [["npm test", 0, ok], "edit a.ts"] }],
  ["`a.ts` exists", {}],
  ["file src/a.ts exists", { files: { "a.ts": "" } }],
  ["src/a.ts is created", {}],
  ["`a.ts` does not exist", { files: { "a.ts": "" } }],
  ["a.ts is deleted", { files: { "a.ts": "x" } }],
  ["the file old/a.ts no longer exists", { files: { "old/a.ts": "x" } }],
  ["`a.ts` contains `parse`", { files: { "a.ts": "print" } }],
  ["`a.ts` contains `parse`", {}],
  ['a.ts includes "export"', { files: { "a.ts": "import" } }],
  ["`a.ts` does not contain `TODO`", { files: { "a.ts": "// TODO" } }],
  ["`a.ts` no longer contains `TODO`", {}],
  ["src/a.ts is changed", { ran: ["edit src/b.ts"] }],
  ["`src/a.ts` was updated", {}],
  // A judgement is not asked for while a test run fails.
  ["the code is easy to read", { ran: ["edit a.ts", ["npm test", 1, bad]] }],
  ["the feature works", { ran: [["pytest", 0, "1 failed in 0.1s"]] }],
  ["the code is easy to read", { ran: ["edit a.ts"], errors: ["a.ts"] }],
  ["`npm test` passes", { ran: ["edit a.ts", ["npm test", 0, ok]], errors: ["a.ts"] }],
  // In the user's language.
  ["`npm test` läuft erfolgreich durch", { ran: [["npm test", 1, bad]] }],
  ["Alle Tests sind grün.", { ran: [["npm test", 0, bad]] }],
  ["Die Datei `a.ts` ist gelöscht", { files: { "a.ts": "" } }],
  ["Tous les tests passent.", {}],
  ["`npm run build` réussit", { ran: [["npm run build", 2]] }],
  ["src/a.ts a été supprimé", { files: { "src/a.ts": "" } }],
  ["todas las pruebas pasan", { ran: [["npm test", 1, bad]] }],
  ["`src/a.ts` fue actualizado", { ran: ["edit src/b.ts"] }],
  ["Tutti i test passano", { ran: [["npm test", 0, ok], "edit a.ts"] }],
  ["Todos os testes passam", { ran: [["pytest", 1, "1 failed in 0.1s"]] }],
];

/** The model says "not done"; the evidence says that it is. */
const modest: Case[] = [
  ["`npm test` passes", { ran: [["npm test", 0, ok]] }],
  ["`npm test` passes", { ran: ["edit a.ts", ["npm test", 0, ok]] }],
  // In the user's language.
  ["`npm test` läuft erfolgreich durch", { ran: [["npm test", 0, ok]] }],
  ["Alle Tests sind grün.", { ran: [["npm test", 0, ok]] }],
  ["Die Datei `a.ts` ist gelöscht", {}],
  ["Tous les tests passent.", { ran: [["npm test", 0, ok]] }],
  ["`npm run build` réussit", { ran: [["npm run build", 0]] }],
  ["src/a.ts a été supprimé", {}],
  ["todas las pruebas pasan", { ran: [["npm test", 0, ok]] }],
  ["`src/a.ts` fue actualizado", { ran: ["edit src/a.ts"] }],
  ["Tutti i test passano", { ran: ["edit a.ts", ["npm test", 0, ok]] }],
  ["Todos os testes passam", { ran: [["pytest", 0, "3 passed in 0.1s"]] }],
  ["`npm test` passes", { ran: [["npm test", 1, bad], "edit a.ts", ["npm test", 0, ok]] }],
  ["`npm test` passes", { ran: [["npm test", 0]] }],
  ["`npm test` passes", { ran: [["npm test", 0, "0 errors, 12 warnings"]] }],
  ["`npm test` passes", { ran: [["npm  test", 0, ok]] }],
  ["`npm test` passes", { ran: [["npm test 2>&1", 0, ok]] }],
  ["`npm test` passes", { ran: [["cd packages/a && npm test", 0, ok]] }],
  ["npm test passes", { ran: [["npm test", 0, ok]] }],
  ["npm test passes.", { ran: [["npm test", 0, "# tests 3\n# pass 3\n# fail 0"]] }],
  ["npm run build succeeds", { ran: [["npm run build", 0]] }],
  ["`pytest` passes", { ran: [["pytest", 0, "5 passed, 1 warning in 0.1s"]] }],
  ["pytest passes", { ran: [["pytest", 0, "5 passed, 1 skipped in 0.1s"]] }],
  ["`python -m unittest` passes", { ran: [["python -m unittest", 0, "Ran 5 tests in 0.001s\n\nOK"]] }],
  ["`go test ./...` passes", { ran: [["go test ./...", 0, "ok  \texample.com/a\t0.01s"]] }],
  ["`cargo test` succeeds", { ran: [["cargo test", 0, "test result: ok. 4 passed; 0 failed; 0 ignored"]] }],
  ["`mvn test` passes", { ran: [["mvn test", 0, "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0"]] }],
  ["`npx mocha` passes", { ran: [["npx mocha", 0, "  5 passing (12ms)"]] }],
  ["`npx jest` passes", { ran: [["npx jest", 0, "Tests:       4 passed, 4 total"]] }],
  ["`rspec` passes", { ran: [["rspec", 0, "5 examples, 0 failures"]] }],
  ["`vendor/bin/phpunit` passes", { ran: [["vendor/bin/phpunit", 0, "OK (5 tests, 10 assertions)"]] }],
  ["`npm run build` exits with 0", { ran: [["npm run build", 0]] }],
  ["`npm run lint` exits with code 1", { ran: [["npm run lint", 1]] }],
  ["running `make` succeeds", { ran: [["make", 0]] }],
  ["`tsc` runs without errors", { ran: ["edit a.ts", ["tsc", 0]] }],
  [
    "`tsc` is green",
    {
      ran: [
        ["tsc", 2],
        ["tsc", 0],
      ],
    },
  ],
  ["all tests pass", { ran: [["npm test", 0, ok]] }],
  [
    "All tests pass.",
    {
      ran: [
        ["npm test", 1, bad],
        ["npm test", 0, ok],
      ],
    },
  ],
  ["tests pass", { ran: [["make check", 0, "5 passed in 0.1s"]] }],
  ["the existing tests still pass", { ran: [["npm test", 0, ok]] }],
  ["all 3 tests pass", { ran: [["npm test", 0, ok]] }],
  ["the unit tests pass", { ran: [["npm test", 0, ok]] }],
  ["`a.ts` exists", { files: { "a.ts": "" } }],
  ["file src/a.ts exists", { files: { "src/a.ts": "" } }],
  ["src/a.ts is created", { files: { "src/a.ts": "x" } }],
  ["`a.ts` does not exist", {}],
  ["a.ts is deleted", {}],
  ["the file old/a.ts no longer exists", {}],
  ["`a.ts` contains `parse`", { files: { "a.ts": "function parse() {}" } }],
  ['a.ts includes "export"', { files: { "a.ts": "export {}" } }],
  ["`a.ts` does not contain `TODO`", { files: { "a.ts": "done" } }],
  ["src/a.ts is changed", { ran: ["edit src/a.ts"] }],
  ["`src/a.ts` was updated", { ran: ["edit ./src/a.ts"] }],
];

describe("verification", () => {
  it("has the number of cases that the requirement asks for", () => {
    expect(lies.length).toBeGreaterThanOrEqual(40);
    expect(modest.length).toBeGreaterThanOrEqual(40);
  });

  it.each(lies)("the model says that it is done, the evidence that it is not: %s %j", async (criterion, facts) => {
    const asked: string[] = [];
    const { met, findings } = await verifyStep({ doneWhen: [criterion], actions: [] }, evidenceOf(facts), (criteria) => {
      asked.push(...criteria);
      return Promise.resolve(criteria.map(() => ({ met: true, why: "It is done." })));
    });
    expect({ met, asked, by: [...new Set(findings.map(({ by }) => by))] }).toEqual({ met: false, asked: [], by: ["evidence"] });
  });

  it.each(modest)("the model says that it is not done, the evidence that it is: %s %j", async (criterion, facts) => {
    const { met, findings } = await verifyStep({ doneWhen: [criterion], actions: [] }, evidenceOf(facts), () =>
      Promise.resolve([{ met: false, why: "I do not think so." }]),
    );
    expect({ met, by: findings.map(({ by }) => by) }).toEqual({ met: true, by: ["evidence"] });
  });

  it("asks a model about the rest only, and says when none answered", async () => {
    const step = { doneWhen: ["`a.ts` exists", "the names are clear"], actions: [] };
    const facts = evidenceOf({ files: { "a.ts": "" } });
    const asked: (readonly string[])[] = [];
    const judged = await verifyStep(step, facts, (criteria) => {
      asked.push(criteria);
      return Promise.resolve([{ met: false, why: "x1 says nothing." }]);
    });
    expect(asked).toEqual([["the names are clear"]]);
    expect(judged).toMatchObject({ met: false, findings: [{ by: "evidence" }, { by: "model", met: false }] });
    const unanswered = await verifyStep(step, facts, () => Promise.resolve(null));
    expect(unanswered).toMatchObject({ met: true, findings: [{ by: "evidence" }, { by: "nobody" }] });
  });

  it.each([
    "`npm test` läuft nicht durch",
    "`npm test` und `npm run lint` laufen durch",
    "`a.ts` is formatted by prettier",
    "a.ts contiene una función que fue agregada",
    "Si falla, las pruebas pasan otra vez",
    "Les tests de `a.ts` passent",
    "The tests for empty input were added",
    "Wird `a.ts` geändert?",
    "The build passes. The tests pass.",
  ])("leaves what is more than one simple statement to a judgement: %s", async (criterion) => {
    const asked: string[] = [];
    await verifyStep({ doneWhen: [criterion], actions: [] }, evidenceOf({ files: { "a.ts": "" } }), (criteria) => {
      asked.push(...criteria);
      return Promise.resolve(null);
    });
    expect(asked).toEqual([criterion]);
  });

  it("expects the files that a step names", async () => {
    const step = {
      doneWhen: ["`a.ts` exists"],
      actions: [
        { tool: "write_file", target: "b.ts" },
        { tool: "delete_file", target: "a.ts" },
      ],
    };
    const { met, findings } = await verifyStep(step, evidenceOf({ files: { "a.ts": "" } }), () => Promise.resolve(null));
    expect({ met, missed: findings.filter((one) => !one.met).map(({ criterion }) => criterion) }).toEqual({
      met: false,
      missed: ["write_file b.ts", "delete_file a.ts"],
    });
  });
});
