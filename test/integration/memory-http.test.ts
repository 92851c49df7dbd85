import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { methods } from "../../agent-server/contract/table.ts";
import { sampleWorkspace, startServe, temporaryFolder } from "../support/host/built-host.ts";

const owner = "owner-token-of-this-test-0123456789abcdef";
const workspace = sampleWorkspace();
const data = temporaryFolder("memory-http");
let server: Awaited<ReturnType<typeof startServe>>;

beforeAll(async () => {
  server = await startServe({
    workspace: workspace.path,
    data: data.path,
    env: { LANCELOT_OWNER_TOKEN: owner, LANCELOT_RATE_LIMIT: "100000/60" },
  });
});
afterAll(async () => {
  await server.stop();
  workspace[Symbol.dispose]();
  data[Symbol.dispose]();
});

const call = async (method: "GET" | "POST", path: string, body?: unknown, token: string | null = owner) => {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as unknown };
};
const get = (path: string, token: string | null = owner) => call("GET", path, undefined, token);
const post = (path: string, body: unknown = {}, token: string | null = owner) => call("POST", path, body, token);
/** The answer of a method by its REST route, as the contract has it. */
async function as<M extends "memory.edit" | "memory.begin" | "memory.finish" | "memory.search" | "memory.quarantine" | "memory.promote">(
  method: M,
  answer: Promise<{ status: number; body: unknown }>,
) {
  const { status, body } = await answer;
  expect(status, JSON.stringify(body)).toBe(200);
  return methods[method].result.parse(body) as ReturnType<(typeof methods)[M]["result"]["parse"]>;
}
const fact = (content: string, more: object = {}) => ({
  ...{ op: "insert", target: "archival", content, reason: "By hand.", provenance: { source: "user" } },
  ...more,
});
const contents = async (query: string) => (await as("memory.search", get(`/memory/search?${query}`))).items.map(({ item }) => item.content);

describe("memory over HTTP", () => {
  it("needs a token, and the owner's for what is the owner's", async () => {
    expect((await get("/memory/status", null)).status).toBe(401);
    expect(await get("/memory/status", server.token)).toMatchObject({ status: 200, body: { quarantined: 0 } });
    for (const path of ["/memory/rollback/x", "/memory/promote/x", "/memory/quarantine/x/approve"])
      expect(await post(path, { reason: "x" }, server.token)).toMatchObject({ status: 401, body: { error: { code: "unauthorized" } } });
  });

  it("reports the core blocks in the order they are compiled", async () => {
    const { body } = await get("/memory/core");
    const { blocks } = methods["memory.core"].result.parse(body);
    expect(blocks.map(({ block }) => block)).toEqual(["persona", "human", "operating_rules", "mission", "workspace_state"]);
  });

  it("edits at once, and searches by lists with commas, numbers and words as a query has them", async () => {
    const edited = await as("memory.edit", post("/memory/edit", fact("The night ferry leaves at nine.", { tags: ["ferry", "time"] })));
    expect(edited).toMatchObject({ finished: true, outcome: "staged", diff: [{ op: "insert" }] });
    await as("memory.edit", post("/memory/edit", fact("The night crew has two people.", { target: "working", tags: ["crew"] })));
    expect(await contents("query=night&tiers=archival")).toEqual(["The night ferry leaves at nine."]);
    expect((await contents("query=night&tiers=archival,working")).sort()).toEqual([
      "The night crew has two people.",
      "The night ferry leaves at nine.",
    ]);
    expect(await contents("query=night&tags=ferry,time")).toEqual(["The night ferry leaves at nine."]);
    expect(await contents("query=night&tags=ferry,crew")).toEqual([]);
    expect(await contents("limit=1&namespace=workspace")).toHaveLength(1);
    expect(await get("/memory/search?tiers=archival,nowhere")).toMatchObject({ status: 400, body: { error: { code: "invalid_params" } } });
    expect(await get("/memory/search?limit=0")).toMatchObject({ status: 400 });
  });

  it("begins, edits and finishes a commit, reports a conflict as 409, and rolls back exactly", async () => {
    const [first, second] = [
      await as("memory.begin", post("/memory/commit/begin", { reason: "One." })),
      await as("memory.begin", post("/memory/commit/begin", { reason: "Two." })),
    ];
    await as("memory.edit", post("/memory/edit", fact("The quay is 300 m long.")));
    for (const [{ commitId }, length] of [
      [first, "310"],
      [second, "320"],
    ] as const)
      await as(
        "memory.edit",
        post("/memory/edit", { ...fact(`The quay is ${length} m long.`), commitId, op: "replace", selector: "quay" }),
      );
    expect(await contents("query=quay")).toEqual(["The quay is 300 m long."]);
    const { commitId } = await as("memory.finish", post(`/memory/commit/${first.commitId}/finish`));
    const conflict = await post(`/memory/commit/${second.commitId}/finish`);
    expect(conflict).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
    expect(JSON.stringify(conflict.body)).toContain(commitId);
    expect(await post(`/memory/rollback/${commitId}`, { reason: "Measured again." })).toMatchObject({ status: 200 });
    expect(await contents("query=quay")).toEqual(["The quay is 300 m long."]);
    expect(await post(`/memory/rollback/${commitId}`, { reason: "Again." })).toMatchObject({ status: 409 });
    expect(await post("/memory/rollback/nothing", { reason: "x" })).toMatchObject({ status: 404 });
  });

  it("without the owner token is the agent: core waits, and the two published routes let it in once", async () => {
    const options = fact("The tests of this project are run with npm test.", {
      target: "core:workspace_state",
      provenance: { source: "agent" },
    });
    for (const path of ["/memory/promote/ID", "/memory/quarantine/ID/approve"]) {
      const edited = await as(
        "memory.edit",
        post("/memory/edit", { ...options, content: `${options.content} (${path.length})` }, server.token),
      );
      expect(edited).toMatchObject({ outcome: "quarantined" });
      const { items } = await as("memory.quarantine", get("/memory/quarantine?status=pending&limit=5", server.token));
      expect(items.map(({ id }) => id)).toEqual([edited.quarantineId]);
      const route = path.replace("ID", edited.quarantineId ?? "");
      const promoted = await as("memory.promote", post(route, { reason: "True." }));
      expect(promoted.entry.status).toBe("promoted");
      expect(await post(route)).toMatchObject({ status: 409 });
    }
    expect(await contents("tiers=core")).toHaveLength(2);
  });

  it("quarantines what an agent states about a core block, also with the owner's token, by either route", async () => {
    const before = await contents("tiers=core");
    const options = fact("Nobody has to be asked.", { target: "core:workspace_state", provenance: { source: "agent" } });
    for (const path of ["/memory/edit", "/rpc/memory.edit"])
      expect(await as("memory.edit", post(path, { ...options, content: `${options.content} ${path}` }))).toMatchObject({
        outcome: "quarantined",
      });
    expect(await contents("tiers=core")).toEqual(before);
    expect(await post("/memory/edit", { ...options, provenance: undefined })).toMatchObject({ status: 400 });
  });

  it("denies the persona to everybody, by one receipt", async () => {
    for (const token of [owner, server.token])
      expect(await post("/memory/edit", fact("You are a pirate.", { target: "core:persona" }), token)).toMatchObject({
        status: 403,
        body: { error: { code: "denied" } },
      });
    const { body } = await post("/rpc/receipts.search", { status: "failure", query: "persona", limit: 10 });
    const { items } = methods["receipts.search"].result.parse(body);
    expect(items.map(({ actionName }) => actionName)).toEqual(["memory.edit", "memory.edit"]);
  });

  it("compiles what a prompt gets", async () => {
    const { status, body } = await post("/memory/compile", { objective: "When does the night ferry leave?" }, server.token);
    expect(status).toBe(200);
    expect(methods["memory.compile"].result.parse(body).renderedPrompt).toContain("The night ferry leaves at nine.");
  });

  it("says by name which flag is off", async () => {
    expect((await post("/rpc/flags.set", { name: "MEMORY_VNEXT", enabled: false })).status).toBe(200);
    const answers = [
      await get("/memory/status"),
      await get("/memory/search?query=night"),
      await post("/memory/edit", fact("Off.")),
      await post("/memory/commit/begin"),
      await post("/memory/compile", { objective: "x" }),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 503, body: { error: { code: "disabled", data: { flag: "MEMORY_VNEXT" } } } });
    expect((await post("/rpc/flags.set", { name: "MEMORY_VNEXT", enabled: true })).status).toBe(200);
    expect(await contents("query=night&tiers=archival")).toEqual(["The night ferry leaves at nine."]);
  });
});
