import * as fc from "fast-check";
import { parse } from "unbash";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Decision, Intent } from "../../../agent-server/contract/governance.ts";
import { scopeCovers, scopesOf } from "../../../agent-server/governance/workspace-approvals/approval-scope.ts";
import { intent } from "../../support/governance-fixture.ts";
import "../../support/properties.ts";
import { runs } from "../../support/soak.ts";
import { createWorkspaceApprovalsFixture, type WorkspaceApprovalsFixture } from "../../support/workspace-approvals-fixture.ts";

const workspace = "/w";
const context = {
  workspace,
  redact: (text: string) => text,
  display: (folder: string) => folder.replace(/^\/w\/?/, "") || ".",
  prefixes: (command: string) => {
    const words = command.split(" ");
    return [1, 2].filter((count) => count < words.length).map((count) => words.slice(0, count).join(" "));
  },
};
const decision = (tier: Decision["tier"]): Decision => ({
  ...{ verdict: "ask", tier, riskLevel: "medium", rules: [], alternatives: [], cached: false },
});

/** Pieces that make a command mean something else, between and inside words. */
const word = fc.constantFrom(
  ...["npm", "run", "build", "build2", "lint", "NPM", "FOO=1", "sudo", "env", "--", "-C", "x", "..", "$X", "$(id)", "`id`", "'a b'", '"x"'],
  ...["*", "~", "{a,b}", ">", ">>out", "<in", "#x", "!", "time", "b\u0443ild", "a\\ b", "%1", "@", "=", "\\", "&", "2>&1"],
);
const gap = fc.constantFrom(" ", " ", " ", " ", "  ", "\t", "\n", ";", " && ", " | ", " & ", "\u00A0", "\\\n", "");
const commandText = fc
  .array(fc.tuple(word, gap), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.map(([text, after]) => text + after).join(""))
  .map((text) => text.replace(/ $/, ""));
const plain = fc
  .array(fc.constantFrom("npm", "run", "build", "build2", "--x"), { minLength: 1, maxLength: 4 })
  .map((words) => words.join(" "));
const anyCommand = fc.oneof(
  plain,
  commandText,
  fc.tuple(fc.constantFrom("npm run ", "npm run", "npm ", "npm run build "), commandText).map(([start, rest]) => start + rest),
);

/** The words of a command that is one simple command without any expansion, assignment or redirection, by the shell's own syntax. */
function simpleWords(command: string): string[] | null {
  const script = parse(command);
  const [statement, ...more] = script.commands;
  if ((script.errors?.length ?? 0) > 0 || statement === undefined || more.length > 0 || statement.background === true) return null;
  const node = statement.command;
  if (node.type !== "Command" || node.name === undefined || node.prefix.length > 0 || node.redirects.length > 0) return null;
  const words = [node.name, ...node.args.flatMap((one) => (one.type === "Word" ? [one] : []))];
  if (words.some((one) => (one.parts ?? []).some((part) => part.type !== "Literal"))) return null;
  return words.map((one) => one.value);
}

const restOfArguments = fc.record(
  {
    network: fc.constantFrom<unknown>(true, false, ["example.com"]),
    containment: fc.constantFrom("transactional", "copied", "watched"),
    place: fc.constantFrom("host", "container"),
  },
  { requiredKeys: [] },
);
const folder = fc.constantFrom(undefined, "/w", "/w/src", ".");
const commandIntent = fc
  .tuple(anyCommand, restOfArguments, folder, fc.constantFrom("shell_exec", "deploy_ops"), fc.constantFrom("run", "build"))
  .map(
    ([command, args, cwd, capability, action]): Intent =>
      intent(capability, action, { ...args, command }, cwd === undefined ? {} : { cwd }),
  );
const pathText = fc
  .array(fc.constantFrom("a", "a.ts", "ab", "A", "..", "", "src", "src2"), { minLength: 1, maxLength: 4 })
  .map((parts) => `/w/${parts.join("/")}`);
const fileIntent = fc
  .tuple(pathText, fc.constantFrom("write", "delete"), fc.constantFrom({}, { recursive: true }))
  .map(([absolute, action, more]): Intent => intent("file_ops", action, { path: absolute, absolute, ...more }));
const anyIntent = fc.oneof(commandIntent, fileIntent);
const tier = fc.constantFrom("T2" as const, "T3" as const);
const withoutArgument = ({ args }: Intent, ...names: string[]) =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)));

describe("a scope", () => {
  it("of an action that is offered covers that action, unless its command is not plain, and the last one is the action itself", () => {
    fc.assert(
      fc.property(anyIntent, tier, (what, at) => {
        const scopes = scopesOf(what, decision(at), context);
        expect(scopes.at(-1)).toMatchObject({ match: "exact" });
        expect(scopeCovers(scopes.at(-1) ?? expect.fail(), structuredClone(what))).toBe(true);
        if (at === "T3") expect(scopes).toHaveLength(1);
      }),
      { numRuns: runs(1_000, 3_000) },
    );
  });

  it("covers only intents inside it", () => {
    let covered = 0;
    fc.assert(
      fc.property(anyIntent, anyIntent, fc.boolean(), (what, drawn, isNear) => {
        // A near intent differs in its command or path alone.
        const other = isNear ? { ...what, args: { ...what.args, ...pick(drawn) } } : drawn;
        for (const scope of scopesOf(what, decision("T2"), context)) {
          if (!scopeCovers(scope, other)) continue;
          covered += 1;
          expect([other.capability, other.action, other.cwd]).toEqual([what.capability, what.action, what.cwd]);
          if (scope.match === "exact") expect(other.args).toEqual(what.args);
          if (scope.match === "prefix") {
            expect(withoutArgument(other, "command")).toEqual(withoutArgument(what, "command"));
            const words = simpleWords(String(other.args["command"]));
            const start = scope.start.split(" ");
            expect(words?.slice(0, start.length), String(other.args["command"])).toEqual(start);
          }
          if (scope.match === "path") {
            expect(withoutArgument(other, "path", "absolute")).toEqual(withoutArgument(what, "path", "absolute"));
            expect(String(other.args["absolute"]).startsWith(`${scope.start}/`)).toBe(true);
            expect(String(other.args["absolute"]).split("/")).not.toContain("..");
          }
        }
      }),
      { numRuns: runs(6_000, 20_000) },
    );
    expect(covered).toBeGreaterThan(10);
  });
});

/** The arguments that a scope may leave open. */
function pick({ args }: Intent): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([name]) => ["command", "path", "absolute"].includes(name)));
}

describe("a saved approval, through the whole gate", () => {
  let fixture: WorkspaceApprovalsFixture;
  beforeAll(async () => {
    fixture = createWorkspaceApprovalsFixture();
    await fixture.always(fixture.run("npm run build"), "npm run *");
    await fixture.always(fixture.run("git fetch origin"), "git fetch origin *");
    await fixture.always(fixture.run("bash tools/x.sh"), "bash tools/x.sh");
  });
  afterAll(() => fixture.dispose());

  it("authorizes without a question only commands inside a saved scope", async () => {
    const starts = [
      ["npm", "run"],
      ["git", "fetch", "origin"],
    ];
    const near = fc.tuple(fc.constantFrom("npm run ", "git fetch origin ", "bash tools/x.sh", ""), commandText).map(([a, b]) => a + b);
    await fc.assert(
      fc.asyncProperty(fc.oneof(near, fc.constantFrom("npm run lint", "git fetch origin main", "bash tools/x.sh")), async (command) => {
        const { authorization } = await fixture.attempt(fixture.run(command, { questId: "quest-9" }), null);
        if (authorization === null) return;
        expect(authorization.decision.rules[0]?.id).toMatch(/^approval\.rule\./);
        const words = simpleWords(command);
        expect(command === "bash tools/x.sh" || starts.some((start) => start.every((one, index) => words?.[index] === one)), command).toBe(
          true,
        );
      }),
      { numRuns: runs(150, 400) },
    );
  });
});
