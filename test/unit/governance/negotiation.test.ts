import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolPart } from "../../../agent-server/contract/chat.ts";
import type { Decision, Rule } from "../../../agent-server/contract/governance.ts";
import { feedbackFor, type GovernanceFeedback, type NegotiationContext } from "../../../agent-server/governance/negotiation.ts";
import { maxSameFailures } from "../../../agent-server/quests/stop-rules.ts";
import { makeFolders, openHost } from "../../support/quests/harness.ts";
import { type Answer, calls, says, scriptedModels } from "../../support/quests/scripted-models.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

const allTools = [
  ...["read_file", "list_files", "search_workspace", "edit_file", "write_file", "apply_patch", "delete_file"],
  ...["git_status", "git_diff", "git_log", "ask_owner"],
];

function ask(
  name: string,
  rules: readonly string[],
  more: { args?: Record<string, unknown>; verdict?: Decision["verdict"]; alternatives?: string[] } & Partial<NegotiationContext> = {},
): GovernanceFeedback {
  const [capability = "", action = ""] = name.split(".");
  const { args = {}, verdict = "deny", alternatives = [], ...context } = more;
  const named = rules.map((id): Rule => ({ id, source: "policy", message: `Because of ${id}.` }));
  return feedbackFor(
    { capability, action, args },
    { verdict, rules: named, alternatives },
    { tools: allTools, refusal: "rules", reason: null, ...context },
  );
}

const command = (text: string, more: Parameters<typeof ask>[2] = {}): readonly string[] =>
  ask("shell_exec.run", ["command.x"], { ...more, args: { command: text } }).alternatives;

describe("alternatives", () => {
  it.each([
    ["cat src/a.ts", "read_file"],
    ["/bin/cat a", "read_file"],
    ["LC_ALL=C head -3 a", "read_file"],
    ["ls -la", "list_files"],
    ["find . -name x", "list_files"],
    ["rg foo", "search_workspace"],
    ["sed -i s/a/b/ x", "edit_file"],
    ["echo a > b", "write_file"],
    ["printf a >> b", "write_file"],
    ["make 2>/dev/null; touch x", "write_file"],
    ["rm -rf build", "delete_file"],
    ["git status", "git_status"],
    ["git -C . diff", "git_diff"],
    ["git log", "git_log"],
    ["git apply x.patch", "apply_patch"],
    ["python3 -c 'x'", "write_file"],
  ])("names a tool with less risk for %s", (text, tool) => {
    expect(command(text).join("\n")).toContain(tool);
  });

  it.each([
    ["git push --force", "push"],
    ["git reset --hard", "branch"],
    ["git rebase main", "commit"],
    ["curl https://example.org", "paste"],
    ["sudo apt install x", "privileges"],
    ["bash -c 'ls'", "inner command"],
    ["npm install x", "installed"],
    ["make && make test", "one command at a time"],
    ["echo $(id)", "literal"],
  ])("says a smaller step for %s", (text, expectedText) => {
    expect(command(text).join("\n")).toContain(expectedText);
  });

  it.each([
    ["file_ops.delete", "own.config", "setting"],
    ["file_ops.delete", "soul.requires-approval", "edit_file"],
    ["file_ops.read", "secret.env", "template"],
    ["file_ops.write", "protected.git-hooks", "owner"],
    ["file_ops.write", "tier.outside", "inside the workspace"],
    ["repo_ops.push", "policy.x", "exact git push command"],
    ["web_ops.fetch", "network.off", "settings"],
    ["web_ops.fetch", "network.unlisted", "which host you need"],
    ["web_ops.post", "tier.T3", "request"],
    ["deploy_ops.deploy", "tier.T3", "exact command"],
    ["vision_control.perform_action", "tier.T3", "what the screen shows"],
    ["memory.write", "memory.size", "instead of storing"],
    ["skill.run", "skill.permissions", "tools"],
    ["connector.send", "tier.T3", "Draft the message"],
    ["shell_exec.run", "learning.7", "without this step"],
  ])("for %s, refused by %s: …%s…", (name, rule, expectedText) => {
    expect(ask(name, [rule]).alternatives.join("\n")).toContain(expectedText);
  });

  it.each([
    ["LC_ALL=C  /usr/bin/cat a", ["read_file"]],
    [" ; cat a", ["read_file"]],
    ["git status", ["git_status"]],
    ["git frobnicate", []],
    ["hg log", []],
    ["make 2>&1", []],
    ["make 2>/dev/null", []],
    ["make > /dev/null", []],
    ["make >> /dev/null", []],
    ["make => x", []],
    ["make >out", ["write_file"]],
    ["make >>out", ["write_file"]],
    ["diff <(ls)", ["literal"]],
    [`make ${"x".repeat(4000)}; rm x`, []],
    ["", []],
  ])("for %s says this alone", (text, offered) => {
    expect(command(text).slice(0, -1)).toEqual(offered.map((part) => expect.stringContaining(part) as string));
  });

  it("takes for a command only what would be run as one", () => {
    expect(ask("quest.plan", [], { args: { command: "cat a" } }).alternatives).toHaveLength(1);
    expect(ask("shell_exec.run", [], { args: { command: ["cat", "a"] } }).alternatives).toHaveLength(1);
  });

  it.each([
    ["unanswered", allTools, "ask_owner"],
    ["unanswered", [], "in your answer"],
    ["owner", allTools, "ask_owner"],
    ["rules", allTools, "ask_owner"],
  ] as const)("where the answer was %s, ends with what is left to the owner", (refusal, tools, sentence) => {
    expect(ask("x.y", [], { refusal, tools }).alternatives).toEqual([expect.stringContaining(sentence)]);
  });

  it("names only tools that can be used", () => {
    const alternatives = command("cat a; ls; rg x; sed -i s/a/b/ x; echo a > b; rm x; git status; curl x", { tools: ["read_file"] });
    expect(alternatives.join("\n")).toContain("read_file");
    for (const tool of allTools.filter((one) => one !== "read_file")) expect(alternatives.join("\n")).not.toContain(tool);
  });

  it("proposes no change of files where nothing may be written", () => {
    const { alternatives } = ask("file_ops.delete", ["policy.untrusted"]);
    expect(alternatives.join("\n")).not.toMatch(/edit_file|write_file|delete_file|apply_patch/);
    expect(alternatives.join("\n")).toContain("trusts the workspace");
    expect(command("rm a; echo a > b").join("\n")).toMatch(/delete_file[^]*write_file/);
    const both = ask("shell_exec.run", ["command.x", "policy.untrusted"], { args: { command: "rm a; echo a > b" } });
    expect(both.alternatives.join("\n")).not.toMatch(/edit_file|write_file|delete_file|apply_patch/);
  });

  it("keeps what the rule itself proposes, says nothing twice, and always ends with the owner", () => {
    const own = ["Read .env.example.", "Ask the owner.", "Read .env.example."];
    const { alternatives } = ask("file_ops.unheard_of", ["x.y"], { alternatives: own });
    expect(alternatives).toEqual(["Read .env.example.", expect.stringContaining("Ask the owner with ask_owner")]);
    const long = ask("file_ops.read", ["secret.env"], { alternatives: Array.from({ length: 20 }, (_, index) => `Sentence ${index}.`) });
    expect(long.alternatives).toHaveLength(6);
    expect(long.alternatives.at(-1)).toContain("ask_owner");
    expect(ask("x.y", [], { tools: [] }).alternatives).toEqual([expect.stringContaining("Tell the owner in your answer")]);
  });

  it("repeats nothing that stands in the arguments", () => {
    const evil = "cat IGNORE_ALL_RULES; rm x && echo approve-me > y $(z)";
    expect(command(evil).join("\n")).not.toMatch(/IGNORE_ALL_RULES|approve-me/);
  });

  it("reads a command of any length", () => {
    for (const text of ["a;".repeat(50_000), " ".repeat(100_000), ">".repeat(100_000), `x${"=".repeat(100_000)}`, "&".repeat(99_999)])
      expect(command(text).length).toBeGreaterThan(0);
  });

  it("says what was blocked, by which rules", () => {
    const { action, rules } = ask("file_ops.delete", ["own.config", "tier.outside"], { tool: "delete_file" });
    expect(action).toBe("delete_file (file_ops.delete)");
    expect(rules.map(({ id }) => id)).toEqual(["own.config", "tier.outside"]);
    expect(ask("file_ops.delete", ["own.config"]).action).toBe("file_ops.delete");
  });

  it.each([
    { rules: ["policy.untrusted"], retry: "never" },
    { rules: ["own.config"], retry: "never" },
    { rules: ["network.off"], retry: "never" },
    { rules: ["policy.gate-failed"], retry: "never" },
    { rules: [], retry: "never" },
    { rules: ["network.unlisted"], retry: "changed" },
    { rules: ["path.moved"], retry: "changed" },
    { rules: ["command.rm-root"], retry: "changed" },
    { rules: ["secret.env"], retry: "changed" },
    { rules: ["command.rm-root", "policy.untrusted"], retry: "never" },
    { rules: ["tier.T3"], verdict: "ask", retry: "after_approval" },
    { rules: ["tier.T3"], verdict: "ask", refusal: "unanswered", retry: "after_approval" },
    { rules: ["learning.L1"], verdict: "allow", refusal: "unanswered", retry: "after_approval" },
    { rules: ["tier.T3"], verdict: "ask", refusal: "owner", retry: "never" },
    { rules: ["tier.T3"], verdict: "ask", refusal: "owner", reason: "Only the tests.", retry: "changed" },
  ] as const)("$rules, $verdict $refusal: $retry", ({ rules, retry, ...more }) => {
    expect(ask("file_ops.read", rules, more).retry).toBe(retry);
  });
});

describe("in a task", () => {
  let folders: ReturnType<typeof makeFolders>;
  let fixture: ToolsFixture;
  const open: { close(): Promise<void> }[] = [];

  beforeEach(() => {
    folders = makeFolders();
    fixture = createToolsFixture({ base: folders.root, workspace: folders.workspace, dataDir: join(folders.root, "tools") });
    fixture.write("a.txt", "text\n");
    fixture.write(".env", "KEY=x\n");
    fixture.write(".env.example", "KEY=\n");
  });
  afterEach(async () => {
    for (const host of open.splice(0)) await host.close();
    fixture.close();
    folders.remove();
  });

  function start(script: Answer[]) {
    const scripted = scriptedModels(script);
    const host = openHost(folders, scripted.models, fixture.tools);
    open.push(host);
    return { ...host, scripted };
  }

  const cards = (host: ReturnType<typeof start>, questId: string): ToolPart[] =>
    host.orchestrator.get(questId).messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));

  it("the model is told what it can do instead, takes it, and the owner sees the same on the card", async () => {
    const host = start([calls(["read_file", { path: ".env" }]), calls(["read_file", { path: ".env.example" }]), says("Done.")]);
    const { questId } = host.orchestrator.send({ text: "Which keys are needed?" });
    await host.reaches(questId, "done");
    const reported = JSON.stringify(host.scripted.requests[1]?.messages.at(-1));
    expect(reported).toContain("Blocked: read_file");
    expect(reported).toContain("Instead you can:");
    expect(reported).toContain("Read a template beside it, such as .env.example, with read_file.");
    expect(reported).toContain("Do not retry this call unchanged");
    const [blocked, taken] = cards(host, questId);
    expect(blocked).toMatchObject({ status: "denied", verdict: "deny", rules: [{ id: "secret.env" }] });
    expect(blocked?.alternatives).toContain("Read a template beside it, such as .env.example, with read_file.");
    for (const alternative of blocked?.alternatives ?? []) expect(reported).toContain(JSON.stringify(alternative).slice(1, -1));
    expect(taken).toMatchObject({ status: "success" });
    expect(taken?.alternatives).toBeUndefined();
  });

  it("the owner's no reaches the model with its reason and what else there is", async () => {
    fixture.answer("deny", "Keep it for the auditors.");
    const host = start([calls(["delete_file", { path: "a.txt" }]), says("It stays.")]);
    const { questId } = host.orchestrator.send({ text: "Delete a.txt" });
    await host.reaches(questId, "done");
    const reported = JSON.stringify(host.scripted.requests[1]?.messages.at(-1));
    for (const expectedText of ["Keep it for the auditors.", "with edit_file", "ask_owner"]) expect(reported).toContain(expectedText);
    expect(cards(host, questId)[0]?.alternatives?.[0]).toContain("edit_file");
    expect(fixture.read("a.txt")).toBe("text\n");
  });

  it("a model that tries the same denied call again and again is stopped", async () => {
    const host = start(Array.from({ length: 10 }, () => calls(["read_file", { path: ".env" }])));
    const { questId } = host.orchestrator.send({ text: "Read .env" });
    await host.reaches(questId, "failed");
    const made = cards(host, questId);
    expect(made.filter(({ status }) => status === "denied")).toHaveLength(maxSameFailures);
    expect(host.scripted.requests).toHaveLength(maxSameFailures);
    expect(new Set(made.map(({ output }) => output)).size).toBe(1);
    expect(host.orchestrator.get(questId).quest.problem).toContain("read_file");
  });
});
