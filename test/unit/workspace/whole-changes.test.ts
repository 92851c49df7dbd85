import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Change } from "../../../agent-server/contract/changes.ts";
import { sha256 } from "../../../agent-server/workspace/workspace.ts";
import { createToolsFixture, type ToolsFixture } from "../../support/tools-fixture.ts";

type Whole = Parameters<ToolsFixture["tools"]["execution"]["changes"]["proposeWhole"]>[0]["before"];

describe("changes that are decided as a whole", () => {
  let fixture: ToolsFixture;
  beforeEach(() => {
    fixture = createToolsFixture();
  });
  afterEach(() => fixture.close());

  const nothing: Whole = { image: null, size: 0 };
  async function file(content: string | Buffer, mode = 0o644): Promise<Whole> {
    const bytes = Buffer.from(content);
    return { image: { hash: await fixture.tools.workspace.objects.put(bytes), mode }, size: bytes.length };
  }
  async function link(target: string): Promise<Whole> {
    const hash = await fixture.tools.workspace.objects.put(Buffer.from(target));
    return { image: { hash, mode: 0o777, kind: "link" }, size: target.length, linkTarget: target };
  }
  const folder = (mode = 0o755): Whole => ({ image: { hash: "", mode, kind: "folder" }, size: 0 });

  function propose(path: string, before: Whole, after: Whole): Change {
    const at = { absolute: fixture.path(path), display: path };
    return fixture.tools.execution.changes.proposeWhole({ questId: "q1", file: at, before, after, receiptId: null, origin: "make assets" });
  }
  const decide = (change: Change, decision: "accept" | "reject" = "accept") => fixture.tools.changes.decide(change.id, decision);
  const undo = () => fixture.tools.checkpoints.restore({ questId: "q1" });
  const modeOf = (path: string) => statSync(fixture.path(path)).mode & 0o7777;

  const binary = Buffer.from([0, 159, 146, 150, 255]);

  it.each([
    ["create", nothing, "a binary file"],
    ["modify", "a binary file", "another"],
    ["delete", "a binary file", nothing],
  ])("%s: is one hunk with the command that made it", async (kind, was, is) => {
    const side = async (one: Whole | string) => (typeof one === "string" ? file(one) : one);
    const change = propose("logo.png", await side(was), await side(is));
    expect(change).toMatchObject({ kind, status: "pending", whole: true, origin: "make assets" });
    expect(change.hunks).toHaveLength(1);
    expect(fixture.events.at(-1)).toEqual(change);
    const { base, proposed } = fixture.tools.changes.get(change.id);
    expect([base === null, proposed === null]).toEqual([kind === "create", kind === "delete"]);
  });

  it("writes an accepted binary file, with a receipt of its hashes, and undoes it exactly", async () => {
    fixture.write("logo.png", binary);
    chmodSync(fixture.path("logo.png"), 0o640);
    const change = propose("logo.png", await file(binary, 0o640), await file(Buffer.from([1, 0, 2]), 0o755));
    expect(await decide(change)).toMatchObject({ status: "accepted", problem: null });
    expect(readFileSync(fixture.path("logo.png"))).toEqual(Buffer.from([1, 0, 2]));
    expect(modeOf("logo.png")).toBe(0o755);
    expect(JSON.stringify(fixture.ledger.trace({ questId: "q1" }))).toContain(sha256(Buffer.from([1, 0, 2])));
    await undo();
    expect(readFileSync(fixture.path("logo.png"))).toEqual(binary);
    expect(modeOf("logo.png")).toBe(0o640);
  });

  it("creates, and deletes", async () => {
    expect(await decide(propose("made/by/all.bin", nothing, await file(binary)))).toMatchObject({ status: "accepted" });
    expect(readFileSync(fixture.path("made/by/all.bin"))).toEqual(binary);
    expect(await decide(propose("made/by/all.bin", await file(binary), nothing))).toMatchObject({ status: "accepted" });
    expect(existsSync(fixture.path("made/by/all.bin"))).toBe(false);
    await undo();
    expect(existsSync(fixture.path("made/by/all.bin"))).toBe(false);
  });

  it("writes nothing when it is rejected", async () => {
    fixture.write("logo.png", binary);
    expect(await decide(propose("logo.png", await file(binary), nothing), "reject")).toMatchObject({ status: "rejected" });
    expect(readFileSync(fixture.path("logo.png"))).toEqual(binary);
  });

  it("changes permissions alone", async () => {
    fixture.write("run.sh", "echo\n");
    chmodSync(fixture.path("run.sh"), 0o644);
    await decide(propose("run.sh", await file("echo\n", 0o644), await file("echo\n", 0o755)));
    expect(modeOf("run.sh")).toBe(0o755);
    await undo();
    expect(modeOf("run.sh")).toBe(0o644);
  });

  it("replaces a file by a link without following it, and back", async () => {
    fixture.write("target.txt", "kept\n");
    fixture.write("name", "a file\n");
    await decide(propose("name", await file("a file\n"), await link("target.txt")));
    expect(readlinkSync(fixture.path("name"))).toBe("target.txt");
    await decide(propose("name", await link("target.txt"), await file("again\n")));
    expect(lstatSync(fixture.path("name")).isFile()).toBe(true);
    expect([fixture.read("name"), fixture.read("target.txt")]).toEqual(["again\n", "kept\n"]);
    await undo();
    expect(fixture.read("name")).toBe("a file\n");
  });

  it("creates and removes folders", async () => {
    await decide(propose("empty", nothing, folder(0o750)));
    expect(modeOf("empty")).toBe(0o750);
    await decide(propose("empty", folder(0o750), nothing));
    expect(existsSync(fixture.path("empty"))).toBe(false);
  });

  it.each([
    ["another file", () => fixture.write("logo.png", "by the user")],
    ["a link", () => (fixture.write("x", "1"), symlinkSync("x", fixture.path("logo.png")))],
    ["a folder", () => mkdirSync(fixture.path("logo.png"))],
  ])("is a conflict where the path now holds %s, and nothing is overwritten", async (_what, act) => {
    const change = propose("logo.png", nothing, await file(binary));
    act();
    const decided = await decide(change);
    expect(decided.hunks[0]?.state).toBe("conflict");
    expect(decided.problem).not.toBeNull();
    expect(lstatSync(fixture.path("logo.png")).isFile() && readFileSync(fixture.path("logo.png")).equals(binary)).toBe(false);
  });

  it("is accepted without a write where the path already holds it", async () => {
    fixture.write("logo.png", binary);
    chmodSync(fixture.path("logo.png"), 0o644);
    expect(await decide(propose("logo.png", nothing, await file(binary)))).toMatchObject({ status: "accepted" });
    expect(fixture.tools.checkpoints.list({ questId: "q1", limit: 10 })).toEqual([]);
  });

  it("is refused where a folder above became a link", async () => {
    mkdirSync(fixture.path("real"));
    const change = propose("dir/logo.png", nothing, await file(binary));
    symlinkSync("real", fixture.path("dir"));
    await expect(decide(change)).rejects.toMatchObject({ code: "denied" });
    expect(existsSync(fixture.path("real/logo.png"))).toBe(false);
  });

  it("replaces the undecided change of the same path, and a text change replaces it", async () => {
    const first = propose("notes", nothing, await file(binary));
    const second = propose("notes", nothing, await file("other"));
    expect(second.id).toBe(first.id);
    const text = await fixture.run("write_file", { path: "notes", content: "text\n" });
    const list = fixture.tools.changes.list({ questId: "q1", open: true, limit: 10 });
    expect(list).toHaveLength(1);
    expect(list[0]).toMatchObject({ id: text.changeId, path: "notes" });
    expect(list[0]?.whole).toBeUndefined();
    await decide(list[0] as Change);
    expect(fixture.read("notes")).toBe("text\n");
  });

  it("is withdrawn when the path no longer differs", async () => {
    const change = propose("notes", nothing, await file(binary));
    fixture.tools.execution.changes.withdraw("q1", fixture.path("notes"));
    expect(fixture.tools.changes.get(change.id).change.status).toBe("superseded");
    expect(fixture.tools.changes.list({ questId: "q1", open: true, limit: 10 })).toEqual([]);
  });

  it("reads as it stands in the workspace until it is accepted, and as missing where it is to be deleted", async () => {
    writeFileSync(fixture.path("script.sh"), "echo\n");
    propose("script.sh", await file("echo\n"), await file("echo\n", 0o755));
    expect((await fixture.run("read_file", { path: "script.sh" })).text).toContain("echo");
    propose("script.sh", await file("echo\n"), nothing);
    expect((await fixture.run("read_file", { path: "script.sh" })).isError).toBe(true);
  });

  it("gives an accepted text the permissions that the command gave it", async () => {
    const { files, changes } = { files: fixture.tools.workspace.files, changes: fixture.tools.execution.changes };
    fixture.write("tool.sh", "one\n");
    const target = { absolute: fixture.path("tool.sh"), display: "tool.sh", asked: "tool.sh", inside: true };
    const current = await files.current(target);
    const change = changes.propose({ questId: "q1", file: target, current, text: "two\n", receiptId: null, mode: 0o755, origin: "make" });
    expect(change).toMatchObject({ origin: "make" });
    await decide(change as Change);
    expect([fixture.read("tool.sh"), modeOf("tool.sh")]).toEqual(["two\n", 0o755]);
    await undo();
    expect([fixture.read("tool.sh"), modeOf("tool.sh") & 0o111]).toEqual(["one\n", 0]);
  });
});
