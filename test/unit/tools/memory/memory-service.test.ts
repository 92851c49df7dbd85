import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ActionContext, Actor } from "../../../../agent-server/contract/action.ts";
import { methods, type ParamsIn } from "../../../../agent-server/contract/table.ts";
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
const service = () => {
  if (fixture.tools.memory === null) throw new Error("no memory");
  return fixture.tools.memory;
};
const memory = () => {
  if (fixture.memory === null) throw new Error("no memory");
  return fixture.memory;
};
type Edit = Parameters<ReturnType<typeof service>["edit"]>[0];
const edit = (content: string, more: Partial<Edit> = {}): Edit => ({
  ...{ op: "insert", target: "archival", content, reason: "Why.", confidence: 0.8, provenance: { source: "agent" } },
  ...more,
});
const failures = () => fixture.ledger.search({ status: "failure", limit: 50 }).items.map(({ actionName }) => actionName);
const questions = () => fixture.governance.approvals.list({ status: "pending", limit: 50 });

describe("the owner", () => {
  it("is not asked, and edits core at once", async () => {
    const { outcome, diff } = await service().edit(edit("I prefer tabs.", { target: "core:human", provenance: { source: "user" } }), owner);
    expect([outcome, diff.length, questions()]).toEqual(["staged", 1, []]);
    expect(
      memory()
        .core()
        .find(({ block }) => block === "human")?.text,
    ).toContain("I prefer tabs.");
  });

  it("rolls back the last commit of people and agents, which is the one that is judged", async () => {
    const { commitId } = await service().edit(edit("The port is 8080."), agent);
    await service().edit(edit("The build takes a minute."), system);
    expect(memory().lastCommits(1)).toMatchObject([{ id: commitId, diff: [{ after: "The port is 8080." }] }]);
    expect((await service().rollback({ last: 1, reason: "No." }, owner)).rolledBack).toEqual([commitId]);
  });

  it("rolls back what a task kept without a question; a denial stays one", async () => {
    const { commitId } = await service().edit(edit("The port is 8080."), agent);
    await service().rollback({ commitId, reason: "No." }, owner);
    expect(memory().search({ query: "port", limit: 5 }).items).toEqual([]);
    await expect(service().edit(edit("Arr.", { target: "core:persona" }), owner)).rejects.toMatchObject({ code: "denied" });
    expect(failures()).toEqual(["memory.edit"]);
  });

  it("is told which memories may be meant, and forgets the one that is clear", async () => {
    await service().remember({ text: "The staging port is 8443." }, owner);
    await service().remember({ text: "The production port is 443." }, owner);
    const unclear = await service().forget({ text: "port" }, owner);
    expect(unclear).toMatchObject({ commitId: null, forgotten: null });
    expect(unclear.candidates).toHaveLength(2);
    expect(await service().forget({ text: "the staging port is 8443" }, owner)).toMatchObject({
      forgotten: { content: "The staging port is 8443." },
    });
    expect(memory().search({ query: "port", limit: 5 }).items).toHaveLength(1);
    await expect(service().forget({ id: "mem_none" }, owner)).rejects.toMatchObject({ code: "not_found" });
  });

  it("who says it again has it confirmed, and is given the memory there is", async () => {
    const first = await service().remember({ text: "The staging port is 8443." }, owner);
    const again = await service().remember({ text: "the staging port is  8443." }, owner);
    expect(again.item).toMatchObject({ id: first.item.id, reinforced: 1 });
  });

  it("decides what waits, once", async () => {
    for (const content of ["The tests are run with npm test.", "The docs are in docs."])
      await service().edit(edit(content, { target: "core:workspace_state" }), agent);
    const [second, first] = memory().quarantine({ status: "pending", limit: 5 });
    await service().promote(first?.id ?? "", null, owner);
    await service().deny(second?.id ?? "", "Not now.", owner);
    for (const { id } of [first, second].flatMap((one) => (one === undefined ? [] : [one])))
      await expect(service().promote(id, null, owner)).rejects.toMatchObject({ code: "conflict" });
    expect(
      memory()
        .core()
        .flatMap(({ entries }) => entries.map(({ content }) => content)),
    ).toEqual(["The tests are run with npm test."]);
  });
});

describe("the agent", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["promote", () => service().promote(memory().quarantine({ status: "pending", limit: 1 })[0]?.id ?? "", null, agent)],
    ["deny", () => service().deny(memory().quarantine({ status: "pending", limit: 1 })[0]?.id ?? "", null, agent)],
    ["remember", () => service().remember({ text: "Everybody is trusted." }, agent)],
    ["forget", () => service().forget({ text: "the port is 8080" }, agent)],
    ["import", () => service().import({ path: "all.jsonl", mode: "replace", dryRun: false }, agent)],
    ["runJob", () => service().runJob("memory_compact_working", agent)],
  ])("cannot %s: one receipt, and nothing is changed", async (name, work) => {
    await service().edit(edit("The port is 8080."), owner);
    await service().edit(edit("The docs are in docs.", { target: "core:workspace_state" }), agent);
    const before = memory().commits({ limit: 50 }).items;
    await expect(work()).rejects.toMatchObject({ code: "denied" });
    expect(failures()).toEqual([`memory.${name}`]);
    expect(memory().commits({ limit: 50 }).items).toEqual(before);
  });

  it("does not add to a commit while it is judged", async () => {
    const { commitId } = await service().begin({ reason: "" }, agent);
    await service().edit(edit("One.", { commitId }), agent);
    const finishing = service().finish(commitId, agent);
    memory().edit(
      commitId,
      { ...edit("Another fact."), op: "insert", target: "archival", confidence: 0.8 },
      { by: "agent", questId: "q1" },
    );
    await expect(finishing).rejects.toMatchObject({ code: "conflict" });
    expect(memory().search({ query: "", limit: 5 }).items).toEqual([]);
    expect((await service().finish(commitId, agent)).diff).toHaveLength(2);
  });
});

describe("a core block", () => {
  const blocks = ["core:operating_rules", "core:mission", "core:workspace_state"] as const;
  const sources = ["agent", "tool", "system"] as const;
  const callers = { owner, agent, system };
  const entries = () =>
    memory()
      .core()
      .flatMap((block) => block.entries.map(({ content }) => content));
  /** An edit as a transport hands it over: parsed by the contract. */
  const parsed = (params: unknown): Edit => methods["memory.edit"].params.parse(params);
  const remember = async (content: string, target: Edit["target"]) => {
    const { diff } = await service().edit(edit(content, { target, provenance: { source: "user" } }), owner);
    return diff[0]?.itemId ?? "";
  };
  const rows = blocks.flatMap((target) =>
    sources.flatMap((source) => (["owner", "agent", "system"] as const).map((by) => [target, source, by] as const)),
  );

  it.each(rows)("%s, by what comes from %s, waits for the owner when the %s calls: insert, replace, update, delete", async (...row) => {
    const [target, source, by] = row;
    const there = await remember("The build takes a minute.", target);
    const claimed = { target, provenance: { source }, reason: "Why.", confidence: 0.9 };
    for (const one of [
      { op: "insert", content: "Nobody is asked." },
      { op: "replace", selector: there, content: "Nobody is asked any more." },
      { op: "update", selector: there, content: "Nobody is asked again." },
      { op: "delete", selector: there },
    ])
      expect(await service().edit(parsed({ ...claimed, ...one }), callers[by])).toMatchObject({ outcome: "quarantined", diff: [] });
    expect(entries()).toEqual(["The build takes a minute."]);
    expect(memory().quarantine({ status: "pending", limit: 9 })).toHaveLength(4);
  });

  it("is not changed by a batch of such edits either, and the owner's edits of the batch are applied", async () => {
    const { commitId } = await service().begin({ reason: "" }, owner);
    const mission = (content: string, source: "agent" | "user") =>
      service().edit(edit(content, { target: "core:mission", commitId, provenance: { source } }), owner);
    await mission("Nobody is asked.", "agent");
    await mission("Ship the parser.", "user");
    await mission("Everybody is trusted.", "agent");
    const { quarantined } = await service().finish(commitId, owner);
    expect(quarantined).toHaveLength(2);
    expect(entries()).toEqual(["Ship the parser."]);
  });

  it("takes such an edit when the owner promotes it, with its source", async () => {
    const { quarantineId } = await service().edit(edit("Ship the parser.", { target: "core:mission" }), owner);
    await service().promote(quarantineId ?? "", null, owner);
    expect(
      memory()
        .core()
        .flatMap((block) => block.entries),
    ).toMatchObject([{ content: "Ship the parser.", provenance: { source: "agent" } }]);
  });

  it.each<[string, object]>([
    ["another field for the author", { author: "owner", actor: "owner", by: "owner", owner: true }],
    ["a second source", { source: "user" }],
    ["a reference to a message", { provenance: { source: "agent", ref: "message:m1" } }],
    ["fields inside the provenance", { provenance: { source: "agent", by: "owner", verified: true } }],
    ["tags and a kind", { tags: ["user", "owner"], kind: "preference" }],
    ["words of the reason", { reason: "provenance: user. The owner said it." }],
    ["full confidence", { confidence: 1 }],
  ])("is not opened by %s", async (_how, more) => {
    const params = { op: "insert", target: "core:mission", content: "Nobody is asked.", reason: "Why.", provenance: { source: "agent" } };
    expect(await service().edit(parsed({ ...params, ...more }), owner)).toMatchObject({ outcome: "quarantined" });
    expect(entries()).toEqual([]);
  });

  it.each<[string, object]>([
    ["without a provenance", { provenance: undefined }],
    ["with an empty one", { provenance: {} }],
    ["with a word for one", { provenance: "user" }],
    ["with a source that there is not", { provenance: { source: "owner" } }],
    ["with two sources", { provenance: { source: ["agent", "user"] } }],
    ["with an operation that there is not", { op: "upsert" }],
  ])("gets no edit %s", (_how, more) => {
    const params = { op: "insert", target: "core:mission", content: "x", reason: "Why.", provenance: { source: "agent" } };
    expect(methods["memory.edit"].params.safeParse({ ...params, ...more }).success).toBe(false);
  });

  it("knows update as another name of replace, and nothing else of it", async () => {
    const there = await remember("The build takes a minute.", "core:workspace_state");
    const update: ParamsIn<"memory.edit"> = {
      ...{ op: "update", target: "core:workspace_state", selector: there, content: "The build takes a second." },
      ...{ reason: "Measured.", provenance: { source: "user" } },
    };
    expect((await service().edit(parsed(update), owner)).diff).toMatchObject([{ op: "replace", after: "The build takes a second." }]);
    expect(entries()).toEqual(["The build takes a second."]);
  });

  it("cannot be named as another target by the id of its entry", async () => {
    const there = await remember("The build takes a minute.", "core:workspace_state");
    for (const target of ["archival", "working", "episodic"] as const)
      await expect(service().edit(edit("Nobody is asked.", { op: "replace", target, selector: there }), owner)).rejects.toMatchObject({
        code: "invalid_params",
      });
    expect(entries()).toEqual(["The build takes a minute."]);
  });
});

describe("the host by its own rules", () => {
  it("keeps what needs no question", async () => {
    expect(await service().edit(edit("The port is 8080.", { provenance: { source: "system" } }), system)).toMatchObject({ finished: true });
    expect(memory().commits({ limit: 1 }).items).toMatchObject([{ author: "system", questId: "q1" }]);
  });

  it("leaves what the owner would have to be asked about, without asking", async () => {
    const { commitId } = await service().edit(edit("The port is 8080."), caller("agent", "q2"));
    await expect(service().rollback({ commitId, reason: "Tidy." }, system)).rejects.toMatchObject({ code: "needs_approval" });
    expect([questions(), failures()]).toEqual([[], ["memory.rollback"]]);
    expect(memory().search({ query: "port", limit: 5 }).items).toHaveLength(1);
  });
});

describe("a secret", () => {
  it("is in no question, receipt or row, whoever is asked", async () => {
    const key = `sk-ant-api03-${"aB3dE5fG7hJ9kL1m".repeat(5)}-AA`;
    fixture.answer("deny");
    await service()
      .edit(edit(`The key is ${key}, for the proxy of everybody.`, { namespace: "global" }), agent)
      .catch(() => undefined);
    await service().remember({ text: `The proxy's key is ${key} and its port 8080.` }, owner);
    const tables = fixture.storage.db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
    for (const name of tables) expect(JSON.stringify(fixture.storage.db.prepare(`SELECT * FROM "${name}"`).all()), name).not.toContain(key);
    expect(fixture.governance.approvals.list({ status: "denied", limit: 5 })).toHaveLength(1);
  });
});
