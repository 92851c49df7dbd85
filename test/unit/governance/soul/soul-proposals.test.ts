import { readdirSync } from "node:fs";
import { join } from "node:path";
import { applyPatch } from "diff";
import { afterEach, describe, expect, it } from "vitest";
import { methods } from "../../../../agent-server/contract/table.ts";
import { soulHandlers } from "../../../../agent-server/governance/soul/soul.ts";
import { createSoulFixture, shippedSoul, type SoulFixture } from "../../../support/soul-fixture.ts";

const fixtures: SoulFixture[] = [];
function fixture(...args: Parameters<typeof createSoulFixture>): SoulFixture {
  const made = createSoulFixture(...args);
  fixtures.push(made);
  return made;
}
afterEach(() => {
  for (const one of fixtures.splice(0)) one.dispose();
});

const pushFree = shippedSoul.replace("    - push\n", "");
const unsound = shippedSoul.replace("no_autonomous_irreversible: true", "no_autonomous_irreversible: false");
const owner = { by: "owner", questId: null, reason: "Pushing is fine." } as const;
const agent = { by: "agent", questId: "q1", reason: "It would be handy." } as const;
const conflict = (status?: string) =>
  expect.objectContaining({ code: "conflict", ...(status === undefined ? {} : { data: { status } }) }) as Error;
const numbered = (index: number) => shippedSoul.replace("Plain, brief", `Plain (${index}), brief`);

describe("a proposal", () => {
  it("is kept as it was made, with the difference it would make, and changes nothing", () => {
    const { soul, events, receipts } = fixture();
    const before = soul.active();
    const proposal = soul.propose({ yaml: pushFree, ...agent });
    expect(proposal).toMatchObject({
      fromVersion: "v1",
      toVersion: "v2",
      status: "pending",
      proposedBy: "agent",
      questId: "q1",
      issues: [],
      decidedAt: null,
    });
    expect(proposal.yaml).toBe(pushFree);
    expect(proposal.diff).toContain("--- soul_v1.yaml");
    expect(proposal.diff).toContain("\n-    - push\n");
    expect(proposal.diff).toContain("\n-version: v1\n+version: v2\n");
    expect(applyPatch(shippedSoul, proposal.diff)).toBe(pushFree.replace("version: v1", "version: v2"));
    expect(soul.active()).toBe(before);
    expect(soul.status().pendingProposals).toEqual([proposal]);
    expect(events.at(-1)?.pendingProposals).toEqual([proposal]);
    expect(receipts()).toEqual(["soul.propose success"]);
  });

  it.each([
    ["no YAML", "a: ["],
    ["nothing", ""],
    ["a list", "- a"],
    ["a word", "soul"],
    ["an alias bomb", "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n"],
    ["a duplicate key", `${shippedSoul}mission: Other.\n`],
    ["a tag", shippedSoul.replace("version: v1", "version: !!str v1")],
    ["two documents", `${shippedSoul}---\n${shippedSoul}`],
    ["a field of another type", shippedSoul.replace("level: autonomous", "level: free")],
    ["irreversible jobs", unsound],
    ["nothing that requires approval", shippedSoul.replace(/requires_approval:\n(?: {4}- .*\n)+/, "requires_approval: []\n")],
    ["a blank mission", shippedSoul.replace(/mission: >-\n(?: {2}.*\n)+/, 'mission: " "\n')],
    ["an approval by timeout", shippedSoul.replace("skip_and_log", "auto_approve")],
    ["no channel", shippedSoul.replace("channels: [war_room, chat, notification, terminal]", "channels: []")],
  ])("that is unsound (%s) is refused with its issues, whoever proposes it, and nothing is stored", (_what, yaml) => {
    const { soul, receipts } = fixture();
    expect(yaml).not.toBe(shippedSoul);
    for (const by of [owner, agent]) {
      const critical = expect.arrayContaining([
        expect.objectContaining({ severity: "critical", rule: expect.any(String) as string }),
      ]) as object;
      expect(() => soul.propose({ yaml, ...by })).toThrow(
        expect.objectContaining({ code: "invalid_params", data: { issues: critical } }) as Error,
      );
    }
    expect([soul.proposals({ limit: 10 }), receipts()]).toEqual([[], []]);
  });

  it("is refused when it says nothing new, is proposed already, or is too long", () => {
    const { soul } = fixture();
    expect(() => soul.propose({ yaml: shippedSoul, ...owner })).toThrow(conflict());
    expect(() => soul.propose({ yaml: shippedSoul.replace("version: v1", "version: v9"), ...owner })).toThrow(conflict());
    soul.propose({ yaml: pushFree, ...agent });
    expect(() => soul.propose({ yaml: pushFree, ...owner })).toThrow(conflict());
    expect(() => soul.propose({ yaml: `#${"語".repeat(70_000)}`, ...owner })).toThrow(
      expect.objectContaining({ code: "too_large" }) as Error,
    );
    expect(() => soul.propose({ yaml: numbered(1), ...owner, reason: "  " })).toThrow(expect.objectContaining({ code: "invalid_params" }));
  });

  it("of the agent waits with at most nineteen others, and does not keep the owner from proposing", () => {
    const { soul } = fixture();
    const made = Array.from({ length: 20 }, (_, index) => soul.propose({ yaml: numbered(index), ...agent }));
    expect(() => soul.propose({ yaml: numbered(20), ...agent })).toThrow(expect.objectContaining({ code: "rate_limited" }) as Error);
    expect(soul.propose({ yaml: numbered(21), ...owner }).status).toBe("pending");
    soul.reject(made[0]?.id ?? "");
    expect(soul.propose({ yaml: numbered(20), ...agent }).status).toBe("pending");
    expect(soul.proposals({ status: "rejected", limit: 10 })).toHaveLength(1);
    expect(soul.proposals({ limit: 5 }).map((one) => one.yaml)).toEqual([
      numbered(20),
      numbered(21),
      numbered(19),
      numbered(18),
      numbered(17),
    ]);
  });

  it("hides a secret in its reason, and is refused with one in its text", () => {
    const { soul } = fixture();
    const token = `ghp_${"a1B2".repeat(9)}`;
    expect(() => soul.propose({ yaml: pushFree.replace("Never mislead.", `Use ${token}.`), ...agent })).toThrow(
      expect.objectContaining({ code: "invalid_params", message: expect.stringContaining("(github-token)") as string }) as Error,
    );
    expect(soul.propose({ yaml: pushFree, ...agent, reason: `use ${token}` }).reason).not.toContain(token);
  });
});

describe("the owner's answer", () => {
  it("goes from pending to approved to activated, each a receipt in this order", () => {
    const { soul, events, receipts } = fixture();
    const { id } = soul.propose({ yaml: pushFree, ...owner });
    expect(() => soul.activate(id)).toThrow(conflict("pending"));
    expect(soul.approve(id)).toMatchObject({ status: "approved", decidedAt: expect.any(String) as string });
    expect(soul.status().activeVersion).toBe("v1");
    expect(() => soul.approve(id)).toThrow(conflict("approved"));
    expect(soul.activate(id)).toMatchObject({ status: "activated", toVersion: "v2" });
    expect(() => soul.activate(id)).toThrow(conflict("activated"));
    expect(() => soul.reject(id)).toThrow(conflict("activated"));
    expect(receipts()).toEqual(["soul.propose success", "soul.approve success", "soul.activate success"]);
    expect(events.at(-1)).toMatchObject({ activeVersion: "v2", pendingProposals: [] });
    expect(soul.status().pendingProposals).toEqual([]);
  });

  it("may be no, also after a yes", () => {
    const { soul, receipts } = fixture();
    const first = soul.propose({ yaml: pushFree, ...owner });
    soul.approve(first.id);
    expect(soul.reject(first.id, "On second thought.")).toMatchObject({ status: "rejected" });
    expect(() => soul.activate(first.id)).toThrow(conflict("rejected"));
    expect(() => soul.approve(first.id)).toThrow(conflict("rejected"));
    expect(receipts()).toEqual(["soul.propose success", "soul.approve success", "soul.reject success"]);
    for (const act of [soul.approve, soul.activate, (id: string) => soul.reject(id)])
      expect(() => act("nowhere")).toThrow(expect.objectContaining({ code: "not_found" }) as Error);
  });

  it("is given once, in whichever window it is given first", () => {
    const here = fixture();
    const there = here.beside();
    fixtures.push(there);
    const { id } = here.soul.propose({ yaml: pushFree, ...agent });
    expect(there.soul.status().pendingProposals.map((one) => one.id)).toEqual([id]);
    there.soul.reject(id);
    expect(() => here.soul.approve(id)).toThrow(conflict("rejected"));
    expect(here.receipts().filter((name) => /approve|reject/.test(name))).toEqual(["soul.reject success"]);
  });

  it("counts for the soul it was proposed against, and for no other", () => {
    const { soul, adopt } = fixture();
    const pending = soul.propose({ yaml: pushFree, ...owner });
    const approved = soul.propose({ yaml: numbered(1), ...owner });
    soul.approve(approved.id);
    adopt(numbered(2));
    expect(() => soul.approve(pending.id)).toThrow(conflict());
    expect(() => soul.activate(approved.id)).toThrow(conflict());
    soul.rollback("v1");
    expect(soul.activate(approved.id)).toMatchObject({ status: "activated", toVersion: "v3" });
    expect(soul.get("v3").yaml).toBe(numbered(1).replace("version: v1", "version: v3"));
  });

  it("survives a restart", () => {
    const one = fixture();
    const { id } = one.soul.propose({ yaml: pushFree, ...agent });
    one.soul.approve(id);
    one.close();
    const { soul } = fixture({}, one.base);
    expect(soul.proposals({ limit: 10 })).toEqual([
      expect.objectContaining({ id, status: "approved", proposedBy: "agent", questId: "q1" }),
    ]);
    expect(soul.activate(id).toVersion).toBe("v2");
  });
});

describe("the lint", () => {
  it("is asked again when a proposal is activated", () => {
    const { soul, storage } = fixture();
    const { id } = soul.propose({ yaml: pushFree, ...owner });
    soul.approve(id);
    // As it is when a newer Lancelot knows of a rule that the one before did not.
    storage.db.prepare("UPDATE soul_proposals SET yaml = ? WHERE id = ?").run(unsound, id);
    expect(() => soul.activate(id)).toThrow(conflict());
    expect(soul.status()).toMatchObject({ activeVersion: "v1", versions: ["v1"], problem: null });
  });

  it("is asked again when a version comes back", () => {
    const { soul, write } = fixture();
    write("soul_versions/soul_v5.yaml", unsound.replace("version: v1", "version: v5"));
    expect(() => soul.rollback("v5")).toThrow(conflict());
    write("soul_versions/soul_v6.yaml", pushFree);
    expect(() => soul.rollback("v6")).toThrow(conflict());
    write("soul_versions/soul_v7.yaml", pushFree.replace("version: v1", "version: v7"));
    expect(soul.rollback("v7")).toMatchObject({ activeVersion: "v7", versions: ["v1", "v5", "v6", "v7"], problem: null });
    expect(soul.active()?.allows({ kind: "plan", capability: "quest", action: "plan", tags: [] })).toBe("plan");
  });
});

describe("the text that is activated", () => {
  it.each([
    ["plain", "version: v1", "version: v2"],
    ["in quotes", 'version: "v1"', "version: v2"],
    ["with a comment", "version: v1   # the first", "version: v2   # the first"],
    ["another number", "version: v999", "version: v2"],
  ])("has its own number, %s, and is otherwise as it was proposed", (_name, from, to) => {
    const { adopt, read } = fixture();
    const yaml = pushFree.replace("version: v1", from);
    expect(adopt(yaml)).toBe("v2");
    expect(read("soul_versions/soul_v2.yaml")).toBe(pushFree.replace("version: v1", to));
  });

  it("keeps Windows line ends and a mapping in braces", () => {
    const { adopt, read, soul } = fixture();
    const windows = pushFree.replaceAll("\n", "\r\n");
    adopt(windows);
    expect(read("soul_versions/soul_v2.yaml")).toBe(windows.replace("version: v1", "version: v2"));
    const json = JSON.stringify({ ...soul.get().document, version: "v1", mission: "Another." });
    adopt(json);
    expect(read("soul_versions/soul_v3.yaml")).toBe(json.replace('"v1"', "v3"));
    expect(soul.status().problem).toBeNull();
  });
});

describe("the contract's methods", () => {
  const signal = new AbortController().signal;
  it("answer as the table says", async () => {
    const { soul } = fixture();
    const handlers = soulHandlers(soul);
    const call = async (name: keyof typeof handlers, params: unknown, isOwner = true): Promise<unknown> => {
      const method = methods[name];
      const handler = handlers[name] as (params: unknown, call: { owner: boolean; signal: AbortSignal }) => unknown;
      return method.result.parse(await handler(method.params.parse(params), { owner: isOwner, signal }));
    };
    expect(await call("soul.status", {})).toMatchObject({ activeVersion: "v1", problem: null });
    expect(await call("soul.get", {})).toMatchObject({ version: "v1", active: true, yaml: shippedSoul });
    expect(await call("soul.lint", { yaml: unsound })).toMatchObject({ valid: false });
    expect(await call("soul.lint", { yaml: pushFree })).toEqual({ valid: true, issues: [] });
    const { id } = (await call("soul.propose", { yaml: pushFree, reason: "x" }, false)) as { id: string };
    expect(await call("soul.proposals", {})).toMatchObject({ items: [{ id, proposedBy: "agent" }] });
    await call("soul.approve", { id });
    await call("soul.activate", { id });
    expect(await call("soul.rollback", { version: "v1" })).toMatchObject({ activeVersion: "v1", versions: ["v1", "v2"] });
    expect(await call("soul.get", { version: "v2" })).toMatchObject({ version: "v2", active: false });
    const other = (await call("soul.propose", { yaml: numbered(3), reason: "x" })) as { id: string; proposedBy: string };
    expect(other.proposedBy).toBe("owner");
    expect(await call("soul.reject", { id: other.id, reason: "no" })).toMatchObject({ status: "rejected" });
    expect(() => soul.get("v77")).toThrow(expect.objectContaining({ code: "not_found" }) as Error);
  });

  it("let the owner alone decide", () => {
    for (const name of ["soul.approve", "soul.reject", "soul.activate", "soul.rollback"] as const)
      expect(methods[name].access).toBe("owner");
  });
});

describe("two windows at once", () => {
  it("the other one sends the event for what was proposed, decided and activated here, once each", () => {
    const here = fixture();
    const there = here.beside();
    fixtures.push(there);
    const seen = (): number => {
      const before = there.events.length;
      there.soul.notice();
      there.soul.notice();
      return there.events.length - before;
    };
    expect(seen()).toBe(0);
    const { id } = here.soul.propose({ yaml: pushFree, ...agent });
    expect(seen()).toBe(1);
    expect(there.events.at(-1)?.pendingProposals).toHaveLength(1);
    here.soul.approve(id);
    expect(seen()).toBe(1);
    here.soul.activate(id);
    expect(seen()).toBe(1);
    expect(there.events.at(-1)).toMatchObject({ activeVersion: "v2", pendingProposals: [] });
    here.soul.rollback("v1");
    expect(seen()).toBe(1);
    expect(seen()).toBe(0);
    const own = here.events.length;
    here.soul.notice();
    expect(here.events).toHaveLength(own);
  });

  it("of two activations one is refused, and the one under way is not mistaken for a change by hand", () => {
    let meanwhile: (step: string) => void = () => undefined;
    const here = fixture({ between: (step) => meanwhile(step) });
    const there = createSoulFixture({}, here.base);
    fixtures.push(there);
    const first = here.soul.propose({ yaml: pushFree, ...owner });
    const second = here.soul.propose({ yaml: numbered(1), ...owner });
    here.soul.approve(first.id);
    there.soul.approve(second.id);
    const seen: unknown[] = [];
    meanwhile = (step) => {
      seen.push([step, there.soul.active()?.version, there.soul.status().activeVersion]);
      expect(() => there.soul.activate(second.id)).toThrow(conflict());
      expect(() => there.soul.rollback("v1")).toThrow(conflict());
    };
    here.soul.activate(first.id);
    expect(seen).toEqual([
      ["prepared", "v1", "v1"],
      ["written", "v1", "v1"],
      ["pointed", "v2", "v2"],
    ]);
    const activations = here.storage.db.prepare("SELECT version FROM soul_activations ORDER BY seq").pluck().all();
    expect(activations).toEqual(["v1", "v2"]);
    expect(() => there.soul.activate(second.id)).toThrow(conflict());
    expect(here.receipts().filter((name) => name.startsWith("soul.activate"))).toEqual(["soul.activate success"]);
  });
});

describe("an activation that fails between its steps", () => {
  const steps = ["prepared", "written"] as const;
  it.each(steps)("is rolled back when the disk refuses after it was %s", (step) => {
    let fail = true;
    const one = fixture({
      between: (at) => {
        if (at === step && fail) {
          // What a folder that cannot be written does to the next step.
          one.write(step === "prepared" ? "soul_versions/soul_v2.yaml" : "x", "somebody else's");
          if (step === "written") throw new Error("stopped");
        }
      },
    });
    const { id } = one.soul.propose({ yaml: pushFree, ...owner });
    one.soul.approve(id);
    expect(() => one.soul.activate(id)).toThrow(
      step === "prepared" ? conflict() : (expect.objectContaining({ code: "unavailable" }) as Error),
    );
    fail = false;
    expect(one.soul.status()).toMatchObject({ activeVersion: "v1", problem: null });
    expect(one.receipts().at(-1)).toBe("soul.activate failure");
    expect(readdirSync(join(one.folder, "soul_versions")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    // A number that somebody else took is passed over.
    expect(one.soul.activate(id).toVersion).toBe(step === "prepared" ? "v3" : "v2");
  });
});
