import { describe, expect, it } from "vitest";
import { boundedScope } from "../../../../agent-server/governance/policy/policy-finding.ts";
import type { Intent } from "../../../../agent-server/contract/governance.ts";
import type { DecisionFacts } from "../../../../agent-server/governance/decision-facts.ts";
import type { PolicyFinding } from "../../../../agent-server/governance/policy/policy-finding.ts";
import { assessPolicy } from "../../../../agent-server/governance/policy/policy.ts";
import type { ResolvedPath } from "../../../../agent-server/governance/policy/path-policy.ts";
import { baseTier } from "../../../../agent-server/governance/base-tiers.ts";
import { gateFacts } from "../../../support/gate-facts.ts";
import { intent } from "../../../support/governance-fixture.ts";

type Found = Extract<ResolvedPath, { ok: true }>;
const found = (more: Partial<Found>): Found => ({
  ok: true,
  absolute: `/w/${more.display ?? "a"}`,
  display: "a",
  inside: true,
  type: "file",
  sensitive: null,
  rule: null,
  ...more,
});
/** Paths by the word that stands for them. */
const paths: Record<string, ResolvedPath> = {
  root: found({ display: ".", type: "directory" }),
  ".": found({ display: ".", type: "directory" }),
  "/": found({ display: "/", inside: false, type: "directory" }),
  drive: found({ display: "C:", inside: false, type: "directory" }),
  "drive/": found({ display: "c:/", inside: false, type: "directory" }),
  "a/": found({ display: "a/" }),
  "C:/a": found({ display: "C:/a" }),
  outside: found({ inside: false }),
  "/outside": found({ inside: false }),
  secret: found({ sensitive: "secret", rule: "secret.env" }),
  nameless: found({ sensitive: "secret" }),
  protected: found({ sensitive: "protected", rule: "protected.git" }),
  own: found({ sensitive: "protected", rule: "own.data" }),
  pipe: found({ type: "other" }),
  nowhere: { ok: false, rule: "path.loop", message: "It runs in a circle." },
};

const network: DecisionFacts["network"] = (url, use) => {
  const { host } = new URL(url);
  const listed = host === "listed.example";
  return {
    verdict: listed ? "allow" : "deny",
    host: host === "nothing.example" ? "" : host,
    rule: { id: `network.${use}`, source: "policy", message: `${url} is judged.` },
    alternatives: listed ? [] : ["Ask the owner to paste it."],
  };
};

function look(name: string, args: Record<string, unknown>, more: Partial<Intent> = {}, facts: Partial<DecisionFacts> = {}): PolicyFinding {
  const [capability = "", action = ""] = name.split(".");
  const base = baseTier(capability, action);
  if (base === null) throw new Error(`no row for ${name}`);
  return assessPolicy(
    intent(capability, action, args, more),
    base,
    gateFacts({ resolve: (path) => paths[path] ?? found({ display: path }), network, ...facts }),
  );
}

/** What an policyFinding says, in one line: denial, what it raises, asks and notes, tags, scope, risk, and whether it may be kept. */
function said({ denial, raises, asks, notes, tags, scope, riskLevel, key }: PolicyFinding): string {
  const ids = (rules: readonly { id: string }[]) => rules.map(({ id }) => id).join(" ");
  return [
    denial === null ? "" : `deny ${ids(denial.rules)} ${denial.tier} ${denial.riskLevel}`,
    raises.length === 0 ? "" : `raise ${ids(raises)}`,
    asks.length === 0 ? "" : `ask ${ids(asks)}`,
    notes.length === 0 ? "" : `note ${ids(notes)}`,
    tags.join(" "),
    `[${scope}]`,
    riskLevel ?? "",
    key === null ? "anew" : "kept",
  ]
    .filter((part) => part !== "")
    .join("; ");
}

const long = "x".repeat(150);
const sentence = /^[A-Z][^]{6,}\.$/;

describe("files", () => {
  it.each([
    ["file_ops.read", { path: "a" }, "[workspace]; kept"],
    ["file_ops.read", { path: "protected" }, "[workspace]; kept"],
    ["file_ops.read", { path: "outside" }, "raise tier.outside; outside; [outside]; kept"],
    ["file_ops.read", { path: "secret" }, "deny secret.env T3 critical; sensitive; [sensitive]; critical; kept"],
    ["file_ops.read", { path: "nameless" }, "deny secret T3 critical; [workspace]; critical; kept"],
    ["file_ops.read", { path: "nowhere" }, "deny path.loop T3 high; [workspace]; kept"],
    ["file_ops.read", { path: "pipe" }, "deny path.special T3 high; [workspace]; kept"],
    ["file_ops.read", { paths: ["a", "outside"] }, "raise tier.outside; outside; [outside]; kept"],
    ["file_ops.write", { paths: ["a", "secret"] }, "raise secret.env; sensitive; [sensitive]; critical; kept"],
    ["file_ops.write", { path: "protected" }, "raise protected.git; sensitive; [sensitive]; kept"],
    ["file_ops.write", { path: "own" }, "deny own.data T3 critical; raise own.data; sensitive; [sensitive]; kept"],
    ["file_ops.write", { paths: ["outside", "/outside"] }, "raise tier.outside; outside; [outside]; kept"],
    ["file_ops.write", {}, "raise tier.no-target; [workspace]; kept"],
    ["file_ops.read", {}, "[workspace]; kept"],
    ["file_ops.delete", { path: "root" }, "deny policy.destructive T3 critical; [workspace]; kept"],
    ["file_ops.delete", { path: "/" }, "deny policy.destructive T3 critical; raise tier.outside; outside; [outside]; kept"],
    ["file_ops.delete", { path: "drive" }, "deny policy.destructive T3 critical; raise tier.outside; outside; [outside]; kept"],
    ["file_ops.delete", { path: "drive/" }, "deny policy.destructive T3 critical; raise tier.outside; outside; [outside]; kept"],
    ["file_ops.delete", { path: "a/" }, "[workspace]; kept"],
    ["file_ops.delete", { path: "C:/a" }, "[workspace]; kept"],
    ["file_ops.write", { path: "a", absolute: "/w/a" }, "[workspace]; kept"],
    ["file_ops.write", { path: "a", absolute: "/w/b" }, "deny path.moved T3 high; [workspace]; kept"],
    // `absolute` speaks of `path` alone.
    ["file_ops.write", { path: "a", absolute: "/w/a", paths: ["b"] }, "[workspace]; kept"],
    ["file_ops.write", { path: 1 }, "deny path.type T3 high; [workspace]; kept"],
    ["quest.plan", { path: "secret" }, "[quest]; kept"],
  ])("%s %j: %s", (name, args, expected) => {
    expect(said(look(name, args))).toBe(expected);
  });

  it("is kept by what each path is, not by its name", () => {
    const key = (...named: string[]) => look("file_ops.read", { paths: named }).key;
    expect(key("a")).toBe(key("b"));
    const different = [[], ["a"], ["a", "a"], ["root"], ["outside"], ["secret"], ["protected"], ["pipe"], ["nowhere"], ["a", "nowhere"]];
    expect(new Set(different.map((named) => key(...named))).size).toBe(different.length);
    const leads = (rule: string) => look("file_ops.read", { path: "x" }, {}, { resolve: () => ({ ok: false, rule, message: "No." }) }).key;
    expect(leads("path.loop")).not.toBe(leads("path.long"));
  });
});

describe("a repository", () => {
  const https = "https://listed.example/r";
  it.each([
    ["repo_ops.status", {}, "[workspace]; kept"],
    ["repo_ops.diff", { path: "secret" }, "deny secret.env T3 critical; sensitive; [sensitive]; critical; kept"],
    ["repo_ops.log", { ref: "main..HEAD" }, "[workspace]; kept"],
    ["repo_ops.log", { ref: null }, "[workspace]; kept"],
    ...["-x", "", "a b", "a::b", "a\u0000", "a\u007f", "a*", "a?", "a[", "a\\", "+-x", "x".repeat(501), 5, ["main"]].map(
      (ref) => ["repo_ops.checkout", { ref }, "deny repository.name T3 high; [any]; anew"] as const,
    ),
    ["repo_ops.checkout", { ref: "x".repeat(500) }, "[workspace]; anew"],
    ["repo_ops.checkout", { ref: "main" }, "[workspace]; anew"],
    ["repo_ops.checkout", { ref: "main", force: true }, "ask repository.discard; [workspace]; anew"],
    ["repo_ops.checkout", { path: "a" }, "ask repository.discard; [workspace]; anew"],
    ["repo_ops.checkout", { paths: ["protected"] }, "raise protected.git; ask repository.discard; sensitive; [sensitive]; anew"],
    ["repo_ops.commit", { message: "x" }, "[workspace]; anew"],
    ["repo_ops.commit", { paths: ["outside"] }, "raise tier.outside; outside; [outside]; anew"],
    ["repo_ops.commit", { paths: ["outside"], amend: true }, "raise tier.outside repository.history; outside history; [outside]; anew"],
    ["repo_ops.commit", { amend: true }, "raise repository.history; history; [workspace]; anew"],
    ["repo_ops.branch", { name: "x" }, "[workspace]; anew"],
    ["repo_ops.branch", { name: "x", delete: true }, "raise repository.branch-delete; delete history; [workspace]; anew"],
    ["repo_ops.branch", { name: "x", force: true }, "raise repository.branch-delete; delete history; [workspace]; anew"],
    ["repo_ops.push", {}, "[remote:origin]; high; anew"],
    ["repo_ops.push", { remote: "up", branch: "main" }, "[remote:up]; high; anew"],
    ["repo_ops.push", { remote: long }, `[${boundedScope(`remote:${long}`)}]; high; anew`],
    ...[{ force: true }, { delete: true }, { branch: "+main" }, { branch: ":main" }].map(
      (args) => ["repo_ops.push", args, "raise repository.force-push; history destroy; [remote:origin]; critical; anew"] as const,
    ),
    ["repo_ops.push", { url: https }, "[remote:origin]; high; anew"],
    ["repo_ops.push", { url: "https://elsewhere.example/r" }, "deny network.write T3 high; [remote:origin]; high; anew"],
    ["repo_ops.push", { url: "git@listed.example:r" }, "[remote:origin]; high; anew"],
    ["repo_ops.push", { url: "ext::sh -c id" }, "deny repository.url T3 critical; [any]; anew"],
    ["repo_ops.push", { url: "a" }, "[remote:origin]; high; anew"],
    ["repo_ops.push", { url: "/outside" }, "raise tier.outside; outside; [remote:origin]; high; anew"],
    [
      "repo_ops.push",
      { url: "file:///outside", force: true },
      "raise repository.force-push tier.outside; history destroy outside; [remote:origin]; critical; anew",
    ],
    ["repo_ops.push", { url: "own" }, "deny own.data T3 critical; raise own.data; sensitive; [remote:origin]; high; anew"],
    ["repo_ops.clone", {}, "deny repository.url T3 high; [any]; anew"],
    ["repo_ops.clone", { url: https, path: "a" }, "[listed.example]; anew"],
    ["repo_ops.clone", { url: https }, "[listed.example]; anew"],
    ["repo_ops.clone", { url: https, path: "outside" }, "raise tier.outside; outside; [listed.example]; anew"],
    ["repo_ops.clone", { url: https, path: "own" }, "deny own.data T3 critical; raise own.data; sensitive; [listed.example]; anew"],
    ["repo_ops.clone", { url: "https://elsewhere.example/r" }, "deny network.read T2 high; [elsewhere.example]; anew"],
    ["repo_ops.clone", { url: "a" }, "[workspace]; anew"],
    ["repo_ops.clone", { url: "/outside", path: "a" }, "raise tier.outside; [workspace]; anew"],
    ["repo_ops.clone", { url: "file:///outside" }, "raise tier.outside; [workspace]; anew"],
    ["repo_ops.clone", { url: "secret" }, "deny secret.env T3 critical; [workspace]; anew"],
    ["repo_ops.clone", { url: "secret", path: "own" }, "deny own.data T3 critical; raise own.data; sensitive; [sensitive]; anew"],
    ["repo_ops.clone", { url: "protected", path: "outside" }, "raise tier.outside; outside; [outside]; anew"],
  ] as const)("%s %j: %s", (name, args, expected) => {
    expect(said(look(name, args))).toBe(expected);
  });

  it.each([
    ["https://listed.example/r", "https://listed.example/r"],
    ["HTTP://listed.example/r", "HTTP://listed.example/r"],
    ["ssh://git@listed.example/r", "https://listed.example/r"],
    ["ssh://git@listed.example:22/r", "https://listed.example:22/r"],
    ["git+ssh://listed.example/r", "https://listed.example/r"],
    ["git://listed.example/r", "https://listed.example/r"],
    ["git@listed.example:a/r.git", "https://listed.example/a/r.git"],
    ["listed.example:a/r.git", "https://listed.example/a/r.git"],
    ["listed.example:", "https://listed.example/"],
    ["a-:r", "https://a-/r"],
    ["-oProxyCommand=x", "program"],
    ["--upload-pack=x", "program"],
    ["ext::sh -c id", "program"],
    ["fd::17", "program"],
    ["transport+x::y", "program"],
    ["ssh://-oProxyCommand=x/r", "program"],
    ["ssh:///r", "program"],
    ["ssh://[/r", "program"],
    ["ftp://listed.example/r", "program"],
    ["x-y://listed.example/r", "program"],
    ["file://host/r", "program"],
    ["-x:r", "program"],
    ["a@-x:r", "program"],
    ["C:\\r", "folder"],
    ["C:r", "folder"],
    ["./a:b", "folder"],
    ["a/x::y", "folder"],
    ["a/https://listed.example", "folder"],
    ["a b:c", "folder"],
    ["../r", "folder"],
    ["file:///w/r", "folder"],
  ])("%s leads to %s", (url, where) => {
    const asked: string[] = [];
    const { denial } = look(
      "repo_ops.clone",
      { url },
      {},
      {
        network: (address) => {
          asked.push(address);
          return network("https://listed.example/", "read");
        },
      },
    );
    if (where === "program") expect(denial?.rules[0]?.id).toBe("repository.url");
    else expect(denial).toBeNull();
    expect(asked).toEqual(where === "program" || where === "folder" ? [] : [where]);
  });
});

describe("commands, builds, scaffolds", () => {
  it.each([
    ["shell_exec.run", { command: "harmless" }, "note command.harmless; read; [harmless]; medium; anew"],
    ["shell_exec.run", { command: "risky" }, "ask command.risky; install; [risky]; medium; anew"],
    ["shell_exec.run", { command: "grave" }, "raise command.grave; delete; [grave]; high; anew"],
    ["shell_exec.run", { command: "fatal" }, "deny command.fatal T3 critical; destroy; [fatal]; critical; anew"],
    ["shell_exec.run", {}, "deny command.missing T3 high; [any]; anew"],
    ["shell_exec.run", { command: "harmless", cwd: 1 }, "deny command.folder T3 high; [any]; anew"],
    ["shell_exec.run", { command: "harmless", cwd: "a" }, "deny command.folder T3 high; [any]; anew"],
    ["shell_exec.run", { command: "harmless", cwd: "nowhere" }, "deny path.loop T3 high; [any]; anew"],
    ["shell_exec.run", { command: "harmless", cwd: "root" }, "note command.harmless; read; [harmless]; medium; anew"],
    ["deploy_ops.build", {}, "[default]; anew"],
    ["deploy_ops.build", { target: "web" }, "[web]; anew"],
    ["deploy_ops.build", { target: long }, `[${boundedScope(long)}]; anew`],
    ["deploy_ops.build", { target: "web", command: "risky" }, "ask command.risky; install; [web]; medium; anew"],
    ["deploy_ops.deploy", {}, "[default]; anew"],
    ["ui_builder.scaffold", { target: "a" }, "[workspace]; anew"],
    ["ui_builder.scaffold", {}, "[workspace]; anew"],
    ["ui_builder.scaffold", { target: "outside" }, "raise tier.outside; outside; [outside]; anew"],
    ["ui_builder.scaffold", { path: "protected" }, "raise protected.git; sensitive; [sensitive]; anew"],
    ["ui_builder.scaffold", { target: 5 }, "deny path.type T3 high; [workspace]; anew"],
  ])("%s %j: %s", (name, args, expected) => {
    expect(said(look(name, args))).toBe(expected);
  });

  it("are given the folder they run in", () => {
    const asked: unknown[] = [];
    const command: DecisionFacts["command"] = (...about) => {
      asked.push(about);
      return gateFacts().command("harmless", undefined);
    };
    look("shell_exec.run", { command: "x" }, {}, { command });
    look("shell_exec.run", { command: "x", cwd: "root" }, {}, { command });
    look("shell_exec.run", { command: "x" }, { cwd: "root" }, { command });
    expect(asked).toEqual([
      ["x", undefined],
      ["x", "root"],
      ["x", "root"],
    ]);
  });
});

describe("everything else", () => {
  const listed = "https://listed.example/";
  const elsewhere = "https://elsewhere.example/";
  const nothing = "https://nothing.example/";
  it.each([
    ["web_ops.fetch", {}, "deny network.address T2 high; [any]; anew"],
    ["web_ops.fetch", { url: listed }, "note network.read; [listed.example]; anew"],
    ["web_ops.fetch", { url: elsewhere }, "deny network.read T2 high; [elsewhere.example]; anew"],
    ["web_ops.fetch", { url: nothing }, "deny network.read T2 high; [any]; anew"],
    ["web_ops.post", {}, "deny network.address T3 high; [any]; anew"],
    ["web_ops.post", { url: listed }, "note network.write; [listed.example]; anew"],
    ["web_ops.post", { url: elsewhere }, "deny network.write T3 high; [elsewhere.example]; anew"],
    ["web_ops.download", { url: listed, path: "a" }, "note network.read; [listed.example]; anew"],
    ["web_ops.download", { url: listed }, "raise tier.no-target; note network.read; [listed.example]; anew"],
    [
      "web_ops.download",
      { url: listed, path: "secret" },
      "raise secret.env; note network.read; sensitive; [listed.example]; critical; anew",
    ],
    ["vision_control.capture_screen", {}, "[screen]; anew"],
    ["vision_control.capture_screen", { url: listed }, "[listed.example]; anew"],
    ["vision_control.capture_screen", { url: elsewhere }, "deny network.read T2 high; [elsewhere.example]; anew"],
    ["vision_control.capture_screen", { description: "delete it" }, "[screen]; anew"],
    ["vision_control.perform_action", { description: "click on Delete" }, "destroy; [screen]; anew"],
    ["vision_control.perform_action", { description: "click", action: "delete" }, "[screen]; anew"],
    ["vision_control.perform_action", { action: "submit" }, "destroy; [screen]; anew"],
    ["vision_control.perform_action", { description: "scroll" }, "[screen]; anew"],
    ["vision_control.perform_action", {}, "[screen]; anew"],
    ["vision_control.perform_action", { description: "pay", url: listed }, "destroy; [listed.example]; anew"],
    [
      "vision_control.perform_action",
      { description: "pay", url: elsewhere },
      "deny network.read T3 high; destroy; [elsewhere.example]; anew",
    ],
    ["skill.run", { name: "echo", permissions: ["read_input", "write_output", "read_config"] }, "[echo]; anew"],
    ["skill.run", { name: "echo", permissions: [] }, "[echo]; anew"],
    ["skill.run", { name: "echo", permissions: ["read_input", "network"] }, "ask skill.permissions; [echo]; anew"],
    ["skill.run", { name: "echo", permissions: [5] }, "ask skill.permissions; [echo]; anew"],
    ["skill.run", { name: "echo", permissions: "read_input" }, "ask skill.permissions; [echo]; anew"],
    ["skill.run", { name: "echo" }, "ask skill.permissions; [echo]; anew"],
    ...["Echo", "1echo", "_echo", "echo-x", "e/x", `a${"b".repeat(64)}`, ""].map(
      (name) => ["skill.run", { name }, "deny skill.name T2 high; [any]; anew"] as const,
    ),
    ["skill.run", { name: `a${"b".repeat(63)}`, permissions: [] }, `[a${"b".repeat(63)}]; anew`],
    ["connector.send", { connector: "mail", name: "other" }, "[mail]; anew"],
    ["connector.send", { name: "mail" }, "[mail]; anew"],
    ["connector.send", {}, "[any]; anew"],
    ["connector.send", { connector: long }, `[${boundedScope(long)}]; anew`],
    ["quest.ask", {}, "[quest]; kept"],
    ["soul.propose", {}, "[quest]; kept"],
  ] as const)("%s %j: %s", (name, args, expected) => {
    const looked = look(name, args);
    expect(said(looked)).toBe(expected);
    for (const alternative of [...looked.alternatives, ...(looked.denial?.alternatives ?? [])]) expect(alternative).toMatch(sentence);
  });

  it.each([
    ["repo_ops.push", {}, "let the owner push"],
    ["repo_ops.push", { force: true }, "Push without force."],
    ["repo_ops.branch", {}, "new branch"],
    ["deploy_ops.deploy", {}, "let the owner deploy"],
    ["deploy_ops.build", {}, "exact command"],
    ["web_ops.post", { url: listed }, "exact request"],
    ["vision_control.perform_action", {}, "let the owner do it"],
    ["memory.write", { target: "working" }, "say it in the answer"],
    ["skill.run", { name: "echo" }, "tools"],
    ["connector.send", {}, "Draft the message"],
    ["shell_exec.run", { command: "harmless" }, "Ask the owner."],
    ["shell_exec.run", { command: "risky" }, "Say what is missing."],
    ["file_ops.read", { path: "outside" }, "inside the workspace"],
    ["file_ops.write", { path: "outside" }, "regular file"],
    ["file_ops.delete", { path: "a" }, "can be undone"],
  ])("%s %j offers …%s…", (name, args, expectedText) => {
    expect(look(name, args).alternatives.join("\n")).toContain(expectedText);
  });
});

describe("a restricted workspace", () => {
  it.each([
    ["file_ops.write", { path: "a" }, "T1"],
    ["file_ops.delete", { path: "a" }, "T3"],
    ["repo_ops.commit", {}, "T1"],
    ["repo_ops.push", {}, "T3"],
    ["shell_exec.run", { command: "harmless" }, "T2"],
    ["deploy_ops.build", {}, "T2"],
    ["skill.run", { name: "echo", permissions: [] }, "T2"],
  ])("is not changed by %s %j", (name, args, tier) => {
    const { denial } = look(name, args, {}, { trusted: false });
    expect(denial).toMatchObject({ tier, riskLevel: "high", rules: [{ id: "policy.untrusted" }] });
    expect(denial?.alternatives).toContain("Ask the owner to trust the workspace.");
  });

  it("still says first what policy refuses anywhere", () => {
    expect(said(look("file_ops.write", { path: "nowhere" }, {}, { trusted: false }))).toContain("deny path.loop");
    expect(said(look("shell_exec.run", { command: "fatal" }, {}, { trusted: false }))).toContain("deny command.fatal");
  });

  it("is read, asked about and planned for", () => {
    for (const [name, args] of [
      ["file_ops.read", { path: "a" }],
      ["repo_ops.status", {}],
      ["quest.plan", {}],
      ["memory.write", { target: "working", content: "x" }],
    ] as const)
      expect(look(name, args, {}, { trusted: false }).denial).toBeNull();
  });
});

it("what has no policy is refused", () => {
  const base = baseTier("quest", "plan");
  if (base === null) throw new Error("no row");
  const { denial } = assessPolicy(intent("teleport", "home"), base, gateFacts());
  expect(denial).toMatchObject({ tier: "T3", riskLevel: "high", rules: [{ id: "policy.unknown" }] });
  for (const expectedText of [denial?.rules[0]?.message, denial?.alternatives[0]]) expect(expectedText).toMatch(sentence);
});
