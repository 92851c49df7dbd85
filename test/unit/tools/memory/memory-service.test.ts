import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ActionContext, Actor } from "../../../../agent-server/contract/action.ts";
import { createToolsFixture, type ToolsFixture } from "../../../support/tools-fixture.ts";

let fixture: ToolsFixture;
beforeEach(() => {
  fixture = createToolsFixture({ posture: "autonomous", memory: {} });
});
afterEach(() => {
  fixture.close();
  rmSync(dirname(fixture.workspace), { recursive: true, force: true });
});

const caller = (actor: Actor, quest: string | null = null): ActionContext => ({
  ...{ actor, quest, parent: null, mode: "normal", signal: new AbortController().signal },
});
const [owner, agent, system] = [caller("owner"), caller("agent", "q1"), caller("system", "q1")];
const road = () => {
  if (fixture.tools.memory === null) throw new Error("no memory");
  return fixture.tools.memory;
};
const memory = () => {
  if (fixture.memory === null) throw new Error("no memory");
  return fixture.memory;
};
type Edit = Parameters<ReturnType<typeof road>["edit"]>[0];
const edit = (content: string, more: Partial<Edit> = {}): Edit => ({
  ...{ op: "insert", target: "archival", content, reason: "Why.", confidence: 0.8, provenance: { source: "agent" } },
  ...more,
});
const failures = () => fixture.ledger.search({ status: "failure", limit: 50 }).items.map(({ actionName }) => actionName);
const questions = () => fixture.governance.approvals.list({ status: "pending", limit: 50 });

describe("the owner", () => {
  it("is not asked, and edits core at once", async () => {
    const { outcome, diff } = await road().edit(edit("I prefer tabs.", { target: "core:human", provenance: { source: "user" } }), owner);
    expect([outcome, diff.length, questions()]).toEqual(["staged", 1, []]);
    expect(
      memory()
        .core()
        .find(({ block }) => block === "human")?.text,
    ).toContain("I prefer tabs.");
  });

  it("takes back the last commit of people and agents, which is the one that is judged", async () => {
    const { commitId } = await road().edit(edit("The port is 8080."), agent);
    await road().edit(edit("The build takes a minute."), system);
    expect(memory().lastCommits(1)).toMatchObject([{ id: commitId, diff: [{ after: "The port is 8080." }] }]);
    expect((await road().rollback({ last: 1, reason: "No." }, owner)).rolledBack).toEqual([commitId]);
  });

  it("takes back what a task kept without a question; a denial stays one", async () => {
    const { commitId } = await road().edit(edit("The port is 8080."), agent);
    await road().rollback({ commitId, reason: "No." }, owner);
    expect(memory().search({ query: "port", limit: 5 }).items).toEqual([]);
    await expect(road().edit(edit("Arr.", { target: "core:persona" }), owner)).rejects.toMatchObject({ code: "denied" });
    expect(failures()).toEqual(["memory.edit"]);
  });

  it("is told which memories may be meant, and forgets the one that is clear", async () => {
    await road().remember({ text: "The staging port is 8443." }, owner);
    await road().remember({ text: "The production port is 443." }, owner);
    const unclear = await road().forget({ text: "port" }, owner);
    expect(unclear).toMatchObject({ commitId: null, forgotten: null });
    expect(unclear.candidates).toHaveLength(2);
    expect(await road().forget({ text: "the staging port is 8443" }, owner)).toMatchObject({
      forgotten: { content: "The staging port is 8443." },
    });
    expect(memory().search({ query: "port", limit: 5 }).items).toHaveLength(1);
    await expect(road().forget({ id: "mem_none" }, owner)).rejects.toMatchObject({ code: "not_found" });
  });

  it("who says it again has it confirmed, and is given the memory there is", async () => {
    const first = await road().remember({ text: "The staging port is 8443." }, owner);
    const again = await road().remember({ text: "the staging port is  8443." }, owner);
    expect(again.item).toMatchObject({ id: first.item.id, reinforced: 1 });
  });

  it("decides what waits, once", async () => {
    for (const content of ["The tests are run with npm test.", "The docs are in docs."])
      await road().edit(edit(content, { target: "core:workspace_state" }), agent);
    const [second, first] = memory().quarantine({ status: "pending", limit: 5 });
    await road().promote(first?.id ?? "", null, owner);
    await road().deny(second?.id ?? "", "Not now.", owner);
    for (const { id } of [first, second].flatMap((one) => (one === undefined ? [] : [one])))
      await expect(road().promote(id, null, owner)).rejects.toMatchObject({ code: "conflict" });
    expect(
      memory()
        .core()
        .flatMap(({ entries }) => entries.map(({ content }) => content)),
    ).toEqual(["The tests are run with npm test."]);
  });
});

describe("the agent", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["promote", () => road().promote(memory().quarantine({ status: "pending", limit: 1 })[0]?.id ?? "", null, agent)],
    ["deny", () => road().deny(memory().quarantine({ status: "pending", limit: 1 })[0]?.id ?? "", null, agent)],
    ["remember", () => road().remember({ text: "Everybody is trusted." }, agent)],
    ["forget", () => road().forget({ text: "the port is 8080" }, agent)],
    ["import", () => road().import({ path: "all.jsonl", mode: "replace", dryRun: false }, agent)],
    ["runJob", () => road().runJob("memory_compact_working", agent)],
  ])("cannot %s: one receipt, and nothing is changed", async (name, work) => {
    await road().edit(edit("The port is 8080."), owner);
    await road().edit(edit("The docs are in docs.", { target: "core:workspace_state" }), agent);
    const before = memory().commits({ limit: 50 }).items;
    await expect(work()).rejects.toMatchObject({ code: "denied" });
    expect(failures()).toEqual([`memory.${name}`]);
    expect(memory().commits({ limit: 50 }).items).toEqual(before);
  });

  it("does not add to a commit while it is judged", async () => {
    const { commitId } = await road().begin({ reason: "" }, agent);
    await road().edit(edit("One.", { commitId }), agent);
    const finishing = road().finish(commitId, agent);
    memory().edit(
      commitId,
      { ...edit("Another fact."), op: "insert", target: "archival", confidence: 0.8 },
      { by: "agent", questId: "q1" },
    );
    await expect(finishing).rejects.toMatchObject({ code: "conflict" });
    expect(memory().search({ query: "", limit: 5 }).items).toEqual([]);
    expect((await road().finish(commitId, agent)).diff).toHaveLength(2);
  });
});

describe("the host by its own rules", () => {
  it("keeps what needs no question", async () => {
    expect(await road().edit(edit("The port is 8080.", { provenance: { source: "system" } }), system)).toMatchObject({ finished: true });
    expect(memory().commits({ limit: 1 }).items).toMatchObject([{ author: "system", questId: "q1" }]);
  });

  it("leaves what the owner would have to be asked about, without asking", async () => {
    const { commitId } = await road().edit(edit("The port is 8080."), caller("agent", "q2"));
    await expect(road().rollback({ commitId, reason: "Tidy." }, system)).rejects.toMatchObject({ code: "needs_approval" });
    expect([questions(), failures()]).toEqual([[], ["memory.rollback"]]);
    expect(memory().search({ query: "port", limit: 5 }).items).toHaveLength(1);
  });
});

describe("a secret", () => {
  it("is in no question, receipt or row, whoever is asked", async () => {
    const key = `sk-ant-api03-${"aB3dE5fG7hJ9kL1m".repeat(5)}-AA`;
    fixture.answer("deny");
    await road()
      .edit(edit(`The key is ${key}, for the proxy of everybody.`, { namespace: "global" }), agent)
      .catch(() => undefined);
    await road().remember({ text: `The proxy's key is ${key} and its port 8080.` }, owner);
    const tables = fixture.storage.db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
    for (const name of tables) expect(JSON.stringify(fixture.storage.db.prepare(`SELECT * FROM "${name}"`).all()), name).not.toContain(key);
    expect(fixture.governance.approvals.list({ status: "denied", limit: 5 })).toHaveLength(1);
  });
});
