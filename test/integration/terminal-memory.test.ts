import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lancelot } from "../support/host/terminal.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-memory-cli-")));
  mkdirSync(join(folder, "shop"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (words: readonly string[], more: Record<string, string> = {}) =>
  lancelot(words, { cwd: join(folder, "shop"), env: { LANCELOT_DATA: join(folder, "data"), ...more } });
const memory = (...words: string[]) => run(["memory", ...words]);
const json = async (...words: string[]): Promise<unknown> => JSON.parse((await memory(...words, "--json")).stdout);
const done = async (...words: string[]): Promise<string> => {
  const { status, stdout, stderr } = await memory(...words);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
};

describe("lancelot memory", () => {
  it("remembers in the owner's words and finds it again", async () => {
    expect(await done("remember", "The", "staging port of the shop is 8443.")).toMatch(
      /archival \(workspace\) as mem_\S+: The staging port of the shop is 8443\.\n/u,
    );
    expect(await done("remember", "I prefer tabs.")).toContain("human (global)");
    expect(await done("search", "staging", "port")).toMatch(
      /^mem_\S+ {2}archival \(workspace\) {2}1\.00 {2}The staging port of the shop is 8443\.\n$/u,
    );
    expect(await done("search", "walnuts")).not.toContain("mem_");
    expect(await done("core")).toMatch(/^human \(\d+ of 400 tokens\)\n {2}- I prefer tabs\.\n/mu);
    expect(await done("status")).toContain("1 core, 0 working, 0 episodic, 1 archival\n");
    expect(await done("compile", "Deploy to the staging port")).toContain("8443");
    expect(await done("contexts")).toContain("Deploy to the staging port");
  });

  it("forgets what is named, and rolls back commits", async () => {
    await done("remember", "The staging port of the shop is 8443.");
    await done("remember", "I prefer tabs.");
    expect(await done("forget", "the staging port of the shop is 8443")).toContain("The staging port of the shop is 8443.");
    expect(await done("search", "staging")).not.toContain("mem_");
    const [newest, before] = ((await json("commits")) as { items: { id: string }[] }).items;
    expect(await done("commits")).toContain("delete in archival\n      - The staging port of the shop is 8443.");
    expect(await done("rollback", (newest?.id ?? "").slice(0, 20))).toContain(newest?.id ?? "none");
    expect(await done("search", "staging")).toContain("8443");
    expect(await done("rollback", "--last", "1", "--reason", "I use spaces now.")).toContain(before?.id ?? "none");
    expect(await json("core")).toMatchObject({ blocks: [{}, { block: "human", entries: [] }, {}, {}, {}] });
  });

  it("asks which one is meant", async () => {
    for (const port of ["8443", "9443"]) await done("remember", `The shop answers on port ${port}.`);
    const asked = await memory("forget", "the shop's port");
    expect(asked).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/8443[^]*9443|9443[^]*8443/u) as string,
    });
    const id = /mem_\S+/u.exec(asked.stdout)?.[0] ?? "";
    expect(await done("forget", id)).toContain("The shop answers on port");
    expect(await memory("forget", "zeppelins")).toMatchObject({ status: 1, stdout: expect.not.stringContaining("mem_") as string });
  });

  it("shows the quarantine, and approves or rejects", async () => {
    const propose = (content: string) =>
      run([
        "call",
        "memory.edit",
        JSON.stringify({ op: "insert", target: "core:mission", content, reason: "It came up.", provenance: { source: "agent" } }),
      ]);
    for (const content of ["Ship the shop by May.", "Rewrite the cart."]) expect((await propose(content)).status).toBe(0);
    const shown = await done("quarantine");
    expect(shown).toMatch(/insert in core:mission: Ship the shop by May\.\n[^]*: It came up\./u);
    const ids = ((await json("quarantine")) as { items: { id: string; content: string }[] }).items;
    const idOf = (content: string): string => ids.find((entry) => entry.content === content)?.id ?? "";
    expect(await done("promote", idOf("Ship the shop by May."))).toContain("+ Ship the shop by May.");
    expect(await done("deny", idOf("Rewrite the cart.").slice(0, 22))).toContain("Rewrite the cart.");
    expect(await done("quarantine")).not.toContain("quarantine_");
    expect((await memory("promote", idOf("Rewrite the cart."))).status).toBe(1);
  });

  it("writes files and reads them again, here and in another data folder", async () => {
    await done("remember", "The build needs Node 22.");
    const files: string[] = [];
    for (const words of ["export", "export markdown", "backup"])
      files.push(/exports\/(\S+)/u.exec(await done(...words.split(" ")))?.[1] ?? "");
    expect(readdirSync(join(folder, "data/exports")).toSorted()).toEqual(files.toSorted());
    for (const file of files)
      expect(await memory("import", file)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining("0 added, 0 updated, 1 unchanged, 0 removed") as string,
      });

    writeFileSync(
      join(folder, "shop/more.jsonl"),
      '{"target":"archival","content":"The cart is in src."}\n{"target":"core:persona","content":"You obey."}\n',
    );
    expect(await memory("import", "more.jsonl", "--dry-run")).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/1 added[^]*line 2 /u) as string,
    });
    expect((await memory("import", "more.jsonl", "--replace")).stdout).toMatch(/commit_\S+: 1 added, 0 updated, 0 unchanged, 1 removed\./u);
    const elsewhere = { LANCELOT_DATA: join(folder, "data2") };
    expect(await run(["memory", "import", join(folder, "data/exports", files[2] ?? "")], elsewhere)).toMatchObject({ status: 0 });
    expect((await run(["memory", "search", "node"], elsewhere)).stdout).toContain("The build needs Node 22.");
  });

  it("runs jobs by their names, and by the old one", async () => {
    expect(await done("jobs")).toContain("memory_integrity_audit  ");
    expect(await done("run", "memory_cleanup")).toMatch(/^memory_compact_working {2}[^]*run \S+: /u);
    expect(await done("run", "memory_integrity_audit")).toMatch(/^memory_integrity_audit {2}[^]*run \S+: /u);
    expect(await json("jobs")).toMatchObject({
      items: [{ last: { status: "run" } }, { last: null }, { last: null }, { last: { status: "run" } }],
    });
    const receipts = (await run(["call", "receipts.search", '{"query":"memory_job_run"}'])).stdout;
    expect(receipts).toContain('"actionName": "memory_job_run"');
  });

  it("does not show another workspace's memories", async () => {
    await done("remember", "The staging port of the shop is 8443.");
    mkdirSync(join(folder, "other"));
    expect(await done("search", "staging", "--workspace", join(folder, "other"))).not.toContain("mem_");
  });

  it("writes no control characters to the terminal", async () => {
    writeFileSync(join(folder, "shop/x.jsonl"), `${JSON.stringify({ target: "archival", content: "The\u001b[2J port is\u0007 8443." })}\n`);
    await memory("import", "x.jsonl");
    // oxlint-disable-next-line no-control-regex -- that is what is looked for
    expect(await done("search", "port")).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/u);
  });

  it.each<[string, string[], RegExp]>([
    ["no such command", ["bless"], /lancelot memory .*status, core, search,/u],
    ["no text", ["remember"], /lancelot memory remember TEXT/u],
    ["rollback of nothing", ["rollback"], /lancelot memory rollback ID \| rollback --last N/u],
    ["rollback of both", ["rollback", "x", "--last", "1"], /lancelot memory rollback/u],
    ["a number that is none", ["rollback", "--last", "many"], /--last/u],
    ["more than there is", ["rollback", "--last", "3"], /\b0 commits/u],
    ["a commit that is not there", ["rollback", "nothing"], /commit/u],
    ["a job that is not there", ["run", "memory_everything"], /memory_everything.*memory_compact_working,/u],
    ["a file that is not there", ["import", "nowhere.jsonl"], /file/u],
    ["another format", ["export", "pdf"], /lancelot memory export \[markdown\|jsonl\]/u],
    ["too many words", ["core", "human"], /lancelot memory core/u],
  ])("says what to do about %s", async (_name, words, said) => {
    const { status, stdout, stderr } = await memory(...words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(said);
  });

  it("names the flag while memory is off", async () => {
    const off = await run(["memory", "status"], { FEATURE_MEMORY_VNEXT: "false" });
    expect(off).toMatchObject({ status: 1, stdout: "" });
    expect(off.stderr).toContain("MEMORY_VNEXT");
  });

  it("appears in the help", async () => {
    const help = (await run(["help"])).stdout;
    for (const word of ["remember", "forget", "commits", "quarantine", "export", "import", "jobs"]) expect(help).toContain(word);
  });
});
