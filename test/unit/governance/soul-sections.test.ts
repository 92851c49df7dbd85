import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import type { Decision, Intent } from "../../../agent-server/contract/governance.ts";
import { SoulDocument } from "../../../agent-server/contract/soul.ts";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";

let fixture: GovernanceFixture;
let beside: GovernanceFixture;
let clock: number;
beforeEach(() => {
  clock = Date.now();
  const now = () => clock;
  fixture = createGovernanceFixture({ now, approvalTimeoutSeconds: 86_400 });
  beside = fixture.beside({ now, approvalTimeoutSeconds: 86_400 });
});
afterEach(() => {
  beside.close();
  fixture.dispose();
});

/** Puts a changed copy of the active soul in force, in this window; decisions are then looked at in the other one. */
function amend(edit: (soul: SoulDocument) => void): void {
  const { soul } = fixture.governance;
  const document = SoulDocument.parse(parse(soul.get().yaml));
  edit(document);
  const { id } = soul.propose({ yaml: stringify(document), reason: "A test of its effect.", by: "owner", questId: null });
  soul.approve(id);
  soul.activate(id);
}

const decide = (one: Intent): Decision => beside.governance.evaluate(one);
const ids = (decision: Decision): string[] => decision.rules.map(({ id }) => id);

const edit = intent("file_ops", "write", { path: "src/a.ts" });
const read = intent("file_ops", "read", { path: "src/a.ts" });
const status = intent("shell_exec", "run", { command: "git status" });
const remember = (content: string) => intent("memory", "write", { target: "archival", content });
const job = { id: "j1", running: 1, elapsedSeconds: 1, ready: true };

describe("each section of the soul changes what happens, by itself and in the other window", () => {
  it("autonomy_posture.level: supervised holds edits for review, whatever the setting says", () => {
    fixture.governance.setPosture("autonomous");
    beside.governance.setPosture("autonomous");
    expect(beside.governance.posture()).toBe("autonomous");
    expect(ids(decide(edit))).toContain("mode.autonomous");
    amend((soul) => {
      soul.autonomy_posture.level = "supervised";
    });
    expect(beside.governance.posture()).toBe("supervised");
    expect(ids(decide(edit))).toContain("mode.supervised");
  });

  it("autonomy_posture.allowed_autonomous: what is no longer named is asked", () => {
    expect(decide(edit)).toMatchObject({ verdict: "allow", tier: "T1" });
    expect(decide(status)).toMatchObject({ verdict: "allow", tier: "T2" });
    amend((soul) => {
      soul.autonomy_posture.allowed_autonomous = ["read_files", "edit_files"];
    });
    expect(decide(edit).verdict).toBe("allow");
    expect(decide(status)).toMatchObject({ verdict: "ask", tier: "T2" });
    expect(ids(decide(status))).toEqual(["soul.not-named"]);
    expect(decide(read).verdict).toBe("allow");
  });

  it("autonomy_posture.requires_approval: what is added is held at T3", () => {
    expect(decide(edit).verdict).toBe("allow");
    amend((soul) => {
      soul.autonomy_posture.requires_approval.push("write_files");
    });
    expect(decide(edit)).toMatchObject({ verdict: "ask", tier: "T3" });
    expect(ids(decide(edit))).toContain("soul.requires-approval");
    expect(decide(read).verdict).toBe("allow");
  });

  it("risk_rules: an enforced one asks, and one that is not enforced does not", () => {
    amend((soul) => {
      soul.risk_rules.push({ name: "Commands", description: "Commands are asked.", enforced: false, applies_to: ["shell"] });
    });
    expect(decide(status).verdict).toBe("allow");
    amend((soul) => {
      for (const rule of soul.risk_rules) if (rule.name === "Commands") rule.enforced = true;
    });
    expect(decide(status)).toMatchObject({
      verdict: "ask",
      rules: [{ id: "soul.risk.commands", source: "soul", message: "Commands are asked." }],
    });
  });

  it("approval_rules: how long a question waits, where it is asked, and what happens when nobody answers", async () => {
    const ask = async () => {
      const waits = Promise.withResolvers<{ expiresAt: string; createdAt: string; channels: string[]; id: string }>();
      const answer = beside.governance
        .authorize(
          intent("file_ops", "delete", { path: "src/a.ts" }, { questId: "q" }),
          { title: "Delete", detail: "src/a.ts" },
          {
            quest: "q",
            parent: null,
            signal: new AbortController().signal,
            onWaiting: waits.resolve,
          },
        )
        .catch((error: unknown) => error);
      return { approval: await waits.promise, answer };
    };
    const seconds = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1000;
    const first = await ask();
    expect(seconds(first.approval.createdAt, first.approval.expiresAt)).toBe(3600);
    expect(first.approval.channels).toEqual(["war_room", "chat", "notification", "terminal"]);
    beside.governance.approvals.decide(first.approval.id, "deny");
    await first.answer;
    amend((soul) => {
      soul.approval_rules = { default_timeout_seconds: 45, escalation_on_timeout: "stop_task", channels: ["war_room"] };
    });
    const second = await ask();
    expect(seconds(second.approval.createdAt, second.approval.expiresAt)).toBe(45);
    expect(second.approval.channels).toEqual(["war_room"]);
    clock += 46_000;
    beside.governance.approvals.list({ limit: 1 });
    expect(await second.answer).toMatchObject({ code: "needs_approval", data: { expired: true, escalation: "stop_task" } });
  });

  it("tone_invariants: what answers are held against", () => {
    expect(beside.governance.tone()).toEqual({ noSilentFailure: true, sourcesRequired: true });
    amend((soul) => {
      soul.tone_invariants = ["Errors and failures are never suppressed silently."];
    });
    expect(beside.governance.tone()).toEqual({ noSilentFailure: true, sourcesRequired: false });
  });

  it("memory_ethics: what memory may not hold", () => {
    const address = remember("Ask Jo at jo.miller@firm-example.com about releases.");
    expect(decide(remember("The project uses tabs."))).toMatchObject({ verdict: "allow", tier: "T1" });
    expect(decide(address)).toMatchObject({ verdict: "deny", rules: [{ source: "soul" }] });
    amend((soul) => {
      soul.memory_ethics = ["What is remembered can be corrected by the owner."];
    });
    expect(decide(address).verdict).toBe("allow");
  });

  it("scheduling_boundaries: how many jobs, how long, and when", () => {
    const one = { ...read, job: { ...job, running: 3, elapsedSeconds: 100 } };
    expect(decide(one).verdict).toBe("allow");
    amend((soul) => {
      soul.scheduling_boundaries.max_concurrent_jobs = 2;
    });
    expect(ids(decide(one))).toEqual(["soul.scheduling.concurrent"]);
    amend((soul) => {
      soul.scheduling_boundaries.max_concurrent_jobs = 5;
      soul.scheduling_boundaries.max_job_duration_seconds = 60;
    });
    expect(ids(decide(one))).toEqual(["soul.scheduling.duration"]);
    const early = { ...read, job: { ...job, ready: false } };
    expect(ids(decide(early))).toEqual(["soul.scheduling.not-ready"]);
    amend((soul) => {
      soul.scheduling_boundaries.require_ready_state = false;
    });
    expect(decide(early).verdict).toBe("allow");
  });
});

describe("what cannot be activated", () => {
  it("a soul that lets jobs act irreversibly, hides failures or deletes without asking", () => {
    for (const edit of [
      (soul: SoulDocument) => {
        soul.scheduling_boundaries.no_autonomous_irreversible = false;
      },
      (soul: SoulDocument) => {
        soul.tone_invariants = ["Be kind."];
      },
      (soul: SoulDocument) => {
        soul.autonomy_posture.requires_approval = ["send_messages"];
      },
      (soul: SoulDocument) => {
        soul.approval_rules.channels = [];
      },
    ])
      expect(() => amend(edit)).toThrow(/./);
    expect(beside.governance.soul.status().activeVersion).toBe("v1");
  });
});

it("activation in one window governs the next action in the other, and rolling back does too", () => {
  expect(decide(read)).toMatchObject({ verdict: "allow" });
  expect(decide(read).cached).toBe(true);
  amend((soul) => {
    soul.autonomy_posture.requires_approval.push("read_files");
  });
  expect(decide(read)).toMatchObject({ verdict: "ask", tier: "T3", cached: false });
  expect(beside.governance.soul.status().activeVersion).toBe("v2");
  fixture.governance.soul.rollback("v1");
  expect(decide(read)).toMatchObject({ verdict: "allow", tier: "T0" });
});
