import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { shippedSoul } from "../../support/soul-fixture.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

let fixture: ToolsFixture;
beforeEach(() => {
  fixture = createToolsFixture({ posture: "autonomous" });
});
afterEach(() => {
  fixture.close();
  rmSync(dirname(fixture.workspace), { recursive: true, force: true });
});

const pushFree = shippedSoul.replace("    - push\n", "");
const soulFile = (name: string) => join(fixture.dataDir, "soul", name);

describe("soul_propose_amendment", () => {
  it("only creates a proposal of the agent, with its quest and its receipt", async () => {
    const before = fixture.governance.soul.active();
    const outcome = await fixture.run("soul_propose_amendment", { yaml: pushFree, reason: "Pushing is tedious." });
    expect(outcome).toMatchObject({ isError: false, card: { status: "success", tier: "T1", verdict: "allow" } });
    expect(outcome.text).toContain("Soul v1");
    const [proposal] = fixture.governance.soul.proposals({ limit: 10 });
    expect(proposal).toMatchObject({
      status: "pending",
      proposedBy: "agent",
      questId: "q1",
      yaml: pushFree,
      reason: "Pushing is tedious.",
    });
    expect(fixture.governance.soul.active()).toBe(before);
    expect(readFileSync(soulFile("ACTIVE"), "utf8")).toBe("v1\n");
    const receipt = fixture.ledger.get(outcome.receiptId ?? "");
    expect(receipt).toMatchObject({
      actionName: "soul_propose_amendment",
      status: "success",
      riskTier: "T1",
      outputs: { proposalId: proposal?.id },
    });
    const children = fixture.ledger.trace({ id: outcome.receiptId ?? "" })[0]?.children.map((child) => child.receipt.actionName);
    expect(children).toContain("soul.propose");
  });

  it("reports the errors of an invalid soul with the active text, and stores nothing", async () => {
    const outcome = await fixture.run("soul_propose_amendment", { yaml: "version: v2\n", reason: "x" });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain('- line 1: The field "mission" is missing.');
    expect(outcome.text).toContain("allegiance: >-");
    expect(fixture.governance.soul.proposals({ limit: 10 })).toEqual([]);
  });

  it("reports what makes a soul unsound, and stores nothing", async () => {
    const yaml = pushFree.replace("no_autonomous_irreversible: true", "no_autonomous_irreversible: false");
    const outcome = await fixture.run("soul_propose_amendment", { yaml, reason: "x" });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(/^- .*irreversible/m);
    expect(fixture.governance.soul.proposals({ limit: 10 })).toEqual([]);
  });

  it("refuses a repeated and a twenty-first proposal", async () => {
    const text = (index: number) => shippedSoul.replace("Plain, brief", `Plain (${index}), brief`);
    for (let index = 0; index < 20; index += 1)
      expect((await fixture.run("soul_propose_amendment", { yaml: text(index), reason: "x" })).isError).toBe(false);
    expect((await fixture.run("soul_propose_amendment", { yaml: text(3), reason: "x" })).text).toMatch(/identical/);
    expect((await fixture.run("soul_propose_amendment", { yaml: text(20), reason: "x" })).text).toMatch(/^.*20 proposals/s);
    expect((await fixture.run("soul_propose_amendment", { yaml: "x".repeat(200_001), reason: "x" })).isError).toBe(true);
  });

  it("requires approval when the soul does not name planning", async () => {
    const { soul } = fixture.governance;
    const { id } = soul.propose({ yaml: shippedSoul.replace("    - plan\n", ""), reason: "x", by: "owner", questId: null });
    soul.approve(id);
    soul.activate(id);
    fixture.answer("deny", "Not now.");
    const outcome = await fixture.run("soul_propose_amendment", { yaml: pushFree, reason: "x" });
    expect(outcome).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(soul.status().pendingProposals).toEqual([]);
  });
});

describe("the file tools", () => {
  it.each([
    ["write_file", (path: string) => ({ path, content: "v9\n" })],
    ["edit_file", (path: string) => ({ path, old_text: "v1", new_text: "v9" })],
    ["delete_file", (path: string) => ({ path })],
  ])("%s cannot change the soul", async (tool, args) => {
    fixture.answer("allow_once");
    for (const name of ["ACTIVE", "soul_versions/soul_v1.yaml", "soul_versions/soul_v2.yaml"]) {
      const outcome = await fixture.run(tool, args(soulFile(name)), { mode: "crusader" });
      expect(outcome.isError).toBe(true);
    }
    expect(readFileSync(soulFile("ACTIVE"), "utf8")).toBe("v1\n");
    expect(readFileSync(soulFile("soul_versions/soul_v1.yaml"), "utf8")).toBe(shippedSoul);
    expect(fixture.governance.soul.status()).toMatchObject({ activeVersion: "v1", versions: ["v1"], problem: null });
  });

  it("apply_patch cannot change it either", async () => {
    fixture.answer("allow_once");
    const path = soulFile("ACTIVE");
    const patch = `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-v1\n+v9\n`;
    expect((await fixture.run("apply_patch", { patch })).isError).toBe(true);
    expect(readFileSync(path, "utf8")).toBe("v1\n");
  });
});
