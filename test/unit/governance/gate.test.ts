import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import type { Approval } from "../../../agent-server/contract/governance.ts";
import { methods } from "../../../agent-server/contract/table.ts";
import { governanceHandlers, type OutcomeStep } from "../../../agent-server/governance/governance.ts";
import { intentHash } from "../../../agent-server/governance/intent-hash.ts";
import { createSnapshot } from "../../../agent-server/governance/database-snapshot.ts";
import { readTable } from "../../../agent-server/governance/config-table.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";

const product = join(import.meta.dirname, "../../..");
let fixture: GovernanceFixture;
const others: GovernanceFixture[] = [];
beforeEach(() => {
  fixture = createGovernanceFixture();
});
afterEach(() => {
  for (const one of others.splice(0)) one.close();
  fixture.dispose();
});
const beside = (more: Parameters<GovernanceFixture["beside"]>[0] = {}): GovernanceFixture => {
  const made = fixture.beside(more);
  others.push(made);
  return made;
};

const question = { title: "Push", detail: "git push" };
const pushing = intent("shell_exec", "run", { command: "git push" });
const context = (quest: string | null = null) => ({
  quest,
  parent: null,
  signal: new AbortController().signal,
  receipt: { actionType: "tool_call" as const, actionName: "run_command", inputs: {} },
});
const hash = (text: string) => createHash("sha256").update(text).digest("hex");

/** A configuration of the test's own, and the soul that ships beside it. */
function ownConfig(change: (configDir: string) => void): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-config-")));
  cpSync(join(product, "config"), join(base, "config"), { recursive: true });
  cpSync(join(product, "soul"), join(base, "soul"), { recursive: true });
  change(join(base, "config"));
  return join(base, "config");
}

describe("a soul scope", () => {
  const scope = { name: "reader", allowed_autonomous: ["read_files"], default_timeout_seconds: 20 };
  const write = (more = {}) => intent("file_ops", "write", { path: "src/a.ts" }, more);
  const ids = (requested: ReturnType<typeof intent>) => fixture.governance.evaluate(requested).rules.map(({ id }) => id);

  it("restricts the actions that carry it and no other, whichever was decided first", () => {
    const { governance } = fixture;
    const decide = (requested: ReturnType<typeof intent>) => governance.evaluate(requested).verdict;
    expect([decide(write()), decide(write({ soulScope: scope })), decide(write())]).toEqual(["allow", "ask", "allow"]);
    expect(ids(write({ soulScope: scope }))).toContain("soul.not-named");
    expect(decide(intent("file_ops", "read", { path: "src/a.ts" }, { soulScope: scope }))).toBe("allow");
  });

  it("is what it says at the moment of the decision, also when the same object says more than before", () => {
    const growing: { name: string; allowed_autonomous?: string[] } = { name: "reader" };
    expect(fixture.governance.evaluate(write({ soulScope: growing })).verdict).toBe("allow");
    growing.allowed_autonomous = ["read_files"];
    expect(fixture.governance.evaluate(write({ soulScope: growing })).verdict).toBe("ask");
  });

  it("applies again right before the effect, and shortens the time to answer", async () => {
    const { governance, events } = fixture;
    const authorization = await governance.authorize(write(), question, context());
    expect(() => governance.redeem(authorization, write({ soulScope: scope }))).toThrow(expect.objectContaining({ code: "denied" }));
    const asked = governance.authorize(write({ soulScope: scope }), question, context());
    const [request] = events;
    if (request === undefined) throw new Error("nothing was asked");
    expect(Date.parse(request.expiresAt ?? "") - Date.parse(request.createdAt)).toBeLessThanOrEqual(20_000);
    governance.approvals.decide(request.id, "allow_once");
    governance.redeem(await asked, write({ soulScope: scope }));
  });

  it.each([
    ["widens the soul", { name: "wide", max_concurrent_jobs: 1000 }],
    ["does not parse", { name: "Not A Name" }],
  ])("that %s denies everything", (_name, wide) => {
    const requested = intent("file_ops", "read", { path: "src/a.ts" }, { soulScope: wide });
    expect(fixture.governance.evaluate(requested)).toMatchObject({ verdict: "deny", rules: [{ id: "policy.gate-failed" }] });
  });
});

describe("the gate", () => {
  it("explains a command part by part, without the secrets in it", () => {
    const token = ["ghp", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fXaB3d"].join("_");
    const { decision, parts } = fixture.governance.explain(`ls && curl -H "authorization: ${token}" https://example.com`, undefined);
    expect(decision).toEqual(
      fixture.governance.evaluate(intent("shell_exec", "run", { command: `ls && curl -H "authorization: ${token}" https://example.com` })),
    );
    expect(parts.map(({ text }) => text)).toHaveLength(2);
    expect(parts[0]?.text).toBe("ls");
    expect(JSON.stringify(parts)).not.toContain(token);
    expect(parts[1]?.text).toContain("[redacted");
  });

  it("judges a command in the folder it is run in", () => {
    mkdirSync(join(fixture.workspace, "sub"));
    writeFileSync(join(fixture.workspace, "sub/.env"), "KEY=x");
    const rules = (cwd: string | undefined) => fixture.governance.explain("cat .env.example", cwd).decision.verdict;
    expect(rules(undefined)).toBe("allow");
    expect(rules("/etc")).not.toBe("allow");
    expect(fixture.governance.evaluate(intent("shell_exec", "run", { command: "cat .env.example" }, { cwd: "/etc" })).verdict).not.toBe(
      "allow",
    );
  });

  it.each([
    [
      "npm install left-pad",
      { network: { services: ["the npm registry"], hosts: ["registry.npmjs.org", "registry.yarnpkg.com"] }, tests: false },
    ],
    ["git fetch origin", { network: { services: [], hosts: null }, tests: false }],
    ["npm test", { network: null, tests: true }],
    ["cd src && python -m pytest -q", { network: null, tests: true }],
    ["ls", { network: null, tests: false }],
  ])("reports what %s needs", (command, needs) => {
    expect(fixture.governance.commandNeeds(command, undefined)).toEqual(needs);
  });

  it("has the posture the owner set, unless the soul is stricter", () => {
    expect(fixture.governance.posture()).toBe("supervised");
    fixture.governance.setPosture("autonomous");
    expect(fixture.governance.posture()).toBe("autonomous");
    const folder = join(fixture.dataDir, "soul/soul_versions");
    const text = fixture.governance.soul.get().yaml;
    writeFileSync(
      join(folder, "soul_v2.yaml"),
      text.replace("version: v1", "version: v2").replace("level: autonomous", "level: supervised"),
    );
    writeFileSync(join(fixture.dataDir, "soul/ACTIVE"), "v2\n");
    expect(fixture.governance.posture()).toBe("supervised");
    expect(fixture.governance.stats(1, { waiting: 0, failed: 0 }).posture).toBe("supervised");
  });

  it("says what tone the soul asks for; none without one", () => {
    expect(fixture.governance.tone()).toEqual({ noSilentFailure: true, sourcesRequired: true });
    expect(beside({ soulEnabled: () => false }).governance.tone()).toBeNull();
  });

  it("asks where the soul says, no longer than the owner's setting or the soul allow", async () => {
    const asked = async (host: GovernanceFixture): Promise<Approval | undefined> => {
      host.governance.setCanAsk(false);
      await host.governance.authorize(pushing, question, context()).catch(() => undefined);
      return host.governance.approvals.list({ limit: 1 })[0];
    };
    const seconds = (one: Approval | undefined) => (Date.parse(one?.expiresAt ?? "") - Date.parse(one?.createdAt ?? "")) / 1000;
    const here = await asked(fixture);
    expect(here?.channels).toEqual(["war_room", "chat", "notification", "terminal"]);
    expect(seconds(here)).toBeCloseTo(60, 0);
    fixture.governance.setApprovalTimeout(100_000);
    // The soul that ships says an hour.
    await fixture.governance
      .authorize(intent("shell_exec", "run", { command: "git push -u origin x" }), question, context())
      .catch(() => undefined);
    expect(seconds(fixture.governance.approvals.list({ limit: 1 })[0])).toBeCloseTo(3_600, 0);
    const text = fixture.governance.soul.get().yaml;
    writeFileSync(
      join(fixture.dataDir, "soul/soul_versions/soul_v2.yaml"),
      text
        .replace("version: v1", "version: v2")
        .replace("default_timeout_seconds: 3600", "default_timeout_seconds: 30")
        .replace("channels: [war_room, chat, notification, terminal]", "channels: [terminal]"),
    );
    writeFileSync(join(fixture.dataDir, "soul/ACTIVE"), "v2\n");
    await fixture.governance.authorize(intent("shell_exec", "run", { command: "git push -f" }), question, context()).catch(() => undefined);
    expect(fixture.governance.approvals.list({ limit: 1 })[0]?.channels).toEqual(["terminal"]);
    expect(seconds(fixture.governance.approvals.list({ limit: 1 })[0])).toBeCloseTo(30, 0);
    // Without a soul the owner's setting alone holds.
    const free = beside({ soulEnabled: () => false, approvalTimeoutSeconds: 100_000, workspace: join(fixture.workspace, "src") });
    const loose = await asked(free);
    expect(loose?.channels).toEqual(["war_room", "chat", "notification", "terminal"]);
    expect(seconds(loose)).toBeCloseTo(100_000, 0);
  });

  it("tells learning and trust of what was undone", () => {
    const step = (): OutcomeStep => {
      const one = intent("repo_ops", "commit", { message: "x" });
      return { intent: one, decision: fixture.governance.evaluate(one), approvalId: null };
    };
    fixture.governance.outcome({ receiptId: "done", questId: null, steps: [step()], result: "success" });
    expect(fixture.governance.trust.list(5)).toMatchObject([{ capability: "repo_ops", action: "commit", successes: 1, rollbacks: 0 }]);
    // A step that was not given out by this window is judged anew.
    fixture.governance.outcome({
      receiptId: "other",
      questId: null,
      steps: [{ ...step(), decision: { ...step().decision } }],
      result: "success",
    });
    expect(fixture.governance.trust.list(5)).toMatchObject([{ successes: 2 }]);
    fixture.governance.rolledBack({ receiptIds: ["done", "never told"], questId: null });
    expect(fixture.governance.trust.list(5)).toMatchObject([{ successes: 0, rollbacks: 1 }]);
  });

  it("suspends the learned rule whose action was undone", () => {
    const { learning } = fixture.governance;
    const key = { capability: "shell_exec", action: "run", scope: "make" };
    for (let index = 0; index < 20; index += 1)
      learning.observe({
        ...{ key, verdict: "allow", tier: "T2", riskLevel: "low", heldBy: null, questId: `q${index % 3}`, approvalId: `a${index}` },
        at: new Date().toISOString(),
      });
    const id = learning.decide(learning.proposals("pending", 1)[0]?.id ?? "", "accept").rule?.id ?? "";
    learning.outcome({ receiptId: "done", ruleId: id, result: "success" });
    fixture.governance.rolledBack({ receiptIds: ["done"], questId: null });
    expect(learning.rules(undefined, 1)).toMatchObject([{ status: "needs_confirmation", waitsFor: expect.any(String) }]);
  });

  it("resolves and judges paths", () => {
    const resolved = fixture.governance.resolvePath("src/a.ts");
    expect(resolved).toMatchObject({ ok: true, display: "src/a.ts" });
    expect(fixture.governance.stillSame(resolved)).toBe(true);
    expect(fixture.governance.judgeName(".env")).toBe("secret");
  });

  it("denies what leaves this machine in safe mode, writing in a restricted workspace, and the network while its flag is off", () => {
    const write = intent("file_ops", "write", { path: "src/a.ts", content: "x" });
    const fetching = intent("web_ops", "fetch", { url: "https://example.com/" });
    expect(fixture.governance.evaluate(write).verdict).not.toBe("deny");
    expect(
      beside({ safeMode: () => true }).governance.evaluate(intent("repo_ops", "push", { remote: "origin", branch: "main" })).rules[0]?.id,
    ).toBe("mode.safe");
    expect(fixture.governance.evaluate(intent("repo_ops", "push", { remote: "origin", branch: "main" })).rules[0]?.id).not.toBe(
      "mode.safe",
    );
    expect(beside({ trusted: false }).governance.evaluate(write).verdict).toBe("deny");
    expect(fixture.governance.evaluate(fetching).verdict).toBe("deny");
    expect(
      beside({ networkEnabled: () => true })
        .governance.evaluate(fetching)
        .rules.map(({ id }) => id),
    ).not.toEqual(fixture.governance.evaluate(fetching).rules.map(({ id }) => id));
  });
});

describe("the state of the safeguards", () => {
  it("names the tables in use by one hash, and what is wrong with none", () => {
    const stats = fixture.governance.stats(7, { waiting: 2, failed: 1 });
    expect(stats).toMatchObject({
      approvals: { pending: 0, allowed: 0, denied: 0, expired: 0 },
      verifications: { waiting: 2, failed: 1 },
      soulVersion: "v1",
      policyVersion: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      posture: "supervised",
      safeMode: false,
      problems: [],
    });
    expect(beside({ safeMode: () => true }).governance.stats(7, { waiting: 0, failed: 0 })).toMatchObject({ safeMode: true });
    expect(beside({ soulEnabled: () => false }).governance.stats(7, { waiting: 0, failed: 0 }).soulVersion).toBeNull();
  });

  it.each(["paths.yaml", "network.yaml"])("changes its hash with %s, which is none when the table cannot be used", (name) => {
    const before = fixture.governance.stats(1, { waiting: 0, failed: 0 }).policyVersion;
    const changed = ownConfig((configDir) => writeFileSync(join(configDir, name), "# another\n", { flag: "a" }));
    const broken = ownConfig((configDir) => writeFileSync(join(configDir, name), "nonsense: ["));
    try {
      expect(beside({ configDir: changed }).governance.stats(1, { waiting: 0, failed: 0 }).policyVersion).not.toBe(before);
      const stats = beside({ configDir: broken }).governance.stats(1, { waiting: 0, failed: 0 });
      expect(stats.policyVersion).toBeNull();
      expect(stats.problems).toEqual([expect.stringContaining(name)]);
    } finally {
      for (const configDir of [changed, broken]) rmSync(join(configDir, ".."), { recursive: true });
    }
  });

  it("counts decisions that were given out, and reports what is wrong with each safeguard", () => {
    const broken = ownConfig((configDir) => {
      for (const name of ["trust.yaml", "learning.yaml", "governance.yaml"]) rmSync(join(configDir, name));
    });
    try {
      const { governance } = beside({ configDir: broken });
      const { problems } = governance.stats(1, { waiting: 0, failed: 0 });
      expect(problems).toHaveLength(3);
      expect(problems.map((sentence) => /(trust|learning|governance)\.yaml/.exec(sentence)?.[1])).toEqual([
        "trust",
        "learning",
        "governance",
      ]);
    } finally {
      rmSync(join(broken, ".."), { recursive: true });
    }
  });
});

describe("the contract's methods", () => {
  const handlers = () => governanceHandlers(fixture.governance, () => ({ waiting: 3, failed: 4 }));
  const call = async (name: keyof ReturnType<typeof handlers> & keyof typeof methods, params: unknown): Promise<unknown> => {
    const method = methods[name];
    const handler = handlers()[name] as (params: unknown, call: { owner: boolean; signal: AbortSignal }) => unknown;
    return method.result.parse(await handler(method.params.parse(params), { owner: true, signal: new AbortController().signal }));
  };

  it("evaluate and explain as the gate does", async () => {
    const args = { command: "git push" };
    expect(await call("policy.evaluate", { capability: "shell_exec", action: "run", args })).toEqual(fixture.governance.evaluate(pushing));
    expect(await call("policy.evaluate", { capability: "shell_exec", action: "run", args: { command: "ls" }, cwd: "/etc" })).toEqual(
      fixture.governance.evaluate(intent("shell_exec", "run", { command: "ls" }, { cwd: "/etc" })),
    );
    expect(
      await call("policy.evaluate", { capability: "file_ops", action: "delete", args: { path: "src/a.ts" }, mode: "crusader" }),
    ).toEqual(fixture.governance.evaluate(intent("file_ops", "delete", { path: "src/a.ts" }, { mode: "crusader" })));
    expect(await call("policy.explain", { command: "cat .env", cwd: fixture.workspace })).toEqual(
      fixture.governance.explain("cat .env", fixture.workspace),
    );
  });

  it("list what waits unless a state is named, of a quest if one is, and take the owner's answer", async () => {
    fixture.governance.setCanAsk(false);
    for (const [questId, command] of [
      ["q1", "git push"],
      ["q2", "git push -f"],
    ] as const)
      await fixture.governance
        .authorize(intent("shell_exec", "run", { command }, { questId }), question, context(questId))
        .catch(() => undefined);
    const ids = async (params: unknown) =>
      ((await call("approvals.list", params)) as { items: Approval[] }).items.map(({ questId }) => questId);
    expect(await ids({})).toEqual(["q2", "q1"]);
    expect(await ids({ limit: 1 })).toEqual(["q2"]);
    expect(await ids({ questId: "q1" })).toEqual(["q1"]);
    expect(await ids({ status: "denied" })).toEqual([]);
    const [one] = fixture.governance.approvals.list({ limit: 1 });
    expect(await call("approvals.decide", { id: one?.id, decision: "deny", reason: "No." })).toMatchObject({
      status: "denied",
      reason: "No.",
    });
    expect(await ids({ status: "denied" })).toEqual(["q2"]);
    expect(await call("governance.stats", { days: 2 })).toMatchObject({
      approvals: { pending: 1, denied: 1 },
      verifications: { waiting: 3, failed: 4 },
      byDay: [{}, {}],
    });
    expect(Object.keys(handlers()).filter((name) => name.startsWith("soul."))).toHaveLength(9);
    expect(await call("trust.list", {})).toEqual({ items: [] });
    expect(await call("learning.rules", {})).toEqual({ items: [] });
  });
});

describe("what an approval is bound to", () => {
  it("is the hash of the canonical intent", () => {
    const one = { capability: "c", action: "a", args: { b: 1, a: [2] }, mode: "normal" as const };
    expect(intentHash(one)).toBe(hash('{"action":"a","args":{"a":[2],"b":1},"capability":"c","cwd":null,"questId":null}'));
    expect(intentHash({ ...one, cwd: "/w", questId: "q" })).toBe(
      hash('{"action":"a","args":{"a":[2],"b":1},"capability":"c","cwd":"/w","questId":"q"}'),
    );
    expect(intentHash({ ...one, mode: "crusader" })).toBe(intentHash(one));
  });
});

describe("a table of the product", () => {
  it("is read by its schema, or refused with a message that names the cause", () => {
    const folder = mkdtempSync(join(tmpdir(), "lancelot-table-"));
    try {
      const sentence = "config/x.yaml cannot be read or is malformed. Restore the file, or reinstall Lancelot.";
      const schema = z.strictObject({ n: z.int() });
      const read = () => readTable(folder, "x.yaml", schema);
      expect(read).toThrow(
        expect.objectContaining({ code: "internal", message: sentence, cause: expect.objectContaining({ code: "ENOENT" }) as unknown }),
      );
      writeFileSync(join(folder, "x.yaml"), "n: 7\n");
      expect(read()).toEqual({ n: 7 });
      for (const text of ["n: x\n", "n: [\n", "a: &a 1\nn: *a\n", "base: &b {n: 1}\n<<: *b\n"]) {
        writeFileSync(join(folder, "x.yaml"), text);
        expect(read).toThrow(sentence);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a part of the database that is kept in memory", () => {
  it("is read again after a write of this or another window, and after one that was undone", () => {
    fixture.storage.db.exec("CREATE TABLE t (n INTEGER)");
    const other = beside().storage;
    let loads = 0;
    const kept = createSnapshot(fixture.storage, () => {
      loads += 1;
      return fixture.storage.db.prepare("SELECT count(*) FROM t").pluck().get();
    });
    expect([kept.get(), kept.get(), loads]).toEqual([0, 0, 1]);
    other.db.exec("INSERT INTO t VALUES (1)");
    expect([kept.get(), kept.get(), loads]).toEqual([1, 1, 2]);
    fixture.storage.transaction(() => {
      fixture.storage.db.exec("INSERT INTO t VALUES (2)");
      kept.invalidate();
      expect([kept.get(), kept.get(), loads]).toEqual([2, 2, 3]);
    });
    expect([kept.get(), kept.get(), loads]).toEqual([2, 2, 4]);
    expect(() =>
      fixture.storage.transaction(() => {
        fixture.storage.db.exec("INSERT INTO t VALUES (3)");
        kept.invalidate();
        expect(kept.get()).toBe(3);
        throw new Error("undone");
      }),
    ).toThrow("undone");
    expect(kept.get()).toBe(2);
  });
});
