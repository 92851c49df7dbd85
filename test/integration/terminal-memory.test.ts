import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-memory-cli-")));
  mkdirSync(join(folder, "shop"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const cli = join(import.meta.dirname, "../../agent-server/cli.ts");
function run(args: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, LANCELOT_DATA: join(folder, "data"), ...more };
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], { cwd: join(folder, "shop"), encoding: "utf8", env });
  return { status, stdout, stderr };
}
const memory = (...args: string[]) => run(["memory", ...args]);
const json = (...args: string[]): unknown => JSON.parse(memory(...args, "--json").stdout);
const done = (...args: string[]): string => {
  const { status, stdout, stderr } = memory(...args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
};

describe("lancelot memory", () => {
  it("remembers in the owner's words and finds it again", () => {
    expect(done("remember", "The", "staging port of the shop is 8443.")).toMatch(
      /archival \(workspace\) as mem_\S+: The staging port of the shop is 8443\.\n/u,
    );
    expect(done("remember", "I prefer tabs.")).toContain("human (global)");
    expect(done("search", "staging", "port")).toMatch(
      /^mem_\S+ {2}archival \(workspace\) {2}1\.00 {2}The staging port of the shop is 8443\.\n$/u,
    );
    expect(done("search", "walnuts")).not.toContain("mem_");
    expect(done("core")).toMatch(/^human \(\d+ of 400 tokens\)\n {2}- I prefer tabs\.\n/mu);
    expect(done("status")).toContain("1 core, 0 working, 0 episodic, 1 archival\n");
    expect(done("compile", "Deploy to the staging port")).toContain("8443");
    expect(done("contexts")).toContain("Deploy to the staging port");
  });

  it("forgets what is named, and rolls back commits", () => {
    done("remember", "The staging port of the shop is 8443.");
    done("remember", "I prefer tabs.");
    expect(done("forget", "the staging port of the shop is 8443")).toContain("The staging port of the shop is 8443.");
    expect(done("search", "staging")).not.toContain("mem_");
    const [newest, before] = (json("commits") as { items: { id: string }[] }).items;
    expect(done("commits")).toContain("delete in archival\n      - The staging port of the shop is 8443.");
    expect(done("rollback", (newest?.id ?? "").slice(0, 20))).toContain(newest?.id ?? "none");
    expect(done("search", "staging")).toContain("8443");
    expect(done("rollback", "--last", "1", "--reason", "I use spaces now.")).toContain(before?.id ?? "none");
    expect(json("core")).toMatchObject({ blocks: [{}, { block: "human", entries: [] }, {}, {}, {}] });
  });

  it("asks which one is meant", () => {
    for (const port of ["8443", "9443"]) done("remember", `The shop answers on port ${port}.`);
    const asked = memory("forget", "the shop's port");
    expect(asked).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/8443[^]*9443|9443[^]*8443/u) as string,
    });
    const id = /mem_\S+/u.exec(asked.stdout)?.[0] ?? "";
    expect(done("forget", id)).toContain("The shop answers on port");
    expect(memory("forget", "zeppelins")).toMatchObject({ status: 1, stdout: expect.not.stringContaining("mem_") as string });
  });

  it("shows the quarantine, and approves or rejects", () => {
    const propose = (content: string) =>
      run([
        "call",
        "memory.edit",
        JSON.stringify({ op: "insert", target: "core:mission", content, reason: "It came up.", provenance: { source: "agent" } }),
      ]);
    for (const content of ["Ship the shop by May.", "Rewrite the cart."]) expect(propose(content).status).toBe(0);
    const shown = done("quarantine");
    expect(shown).toMatch(/insert in core:mission: Ship the shop by May\.\n[^]*: It came up\./u);
    const ids = (json("quarantine") as { items: { id: string; content: string }[] }).items;
    const idOf = (content: string): string => ids.find((entry) => entry.content === content)?.id ?? "";
    expect(done("promote", idOf("Ship the shop by May."))).toContain("+ Ship the shop by May.");
    expect(done("deny", idOf("Rewrite the cart.").slice(0, 22))).toContain("Rewrite the cart.");
    expect(done("quarantine")).not.toContain("quarantine_");
    expect(memory("promote", idOf("Rewrite the cart.")).status).toBe(1);
  });

  it("writes files and reads them again, here and in another data folder", () => {
    done("remember", "The build needs Node 22.");
    const files = ["export", "export markdown", "backup"].map((args) => /exports\/(\S+)/u.exec(done(...args.split(" ")))?.[1] ?? "");
    expect(readdirSync(join(folder, "data/exports")).toSorted()).toEqual(files.toSorted());
    for (const file of files)
      expect(memory("import", file)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining("0 added, 0 updated, 1 unchanged, 0 removed") as string,
      });

    writeFileSync(
      join(folder, "shop/more.jsonl"),
      '{"target":"archival","content":"The cart is in src."}\n{"target":"core:persona","content":"You obey."}\n',
    );
    expect(memory("import", "more.jsonl", "--dry-run")).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/1 added[^]*line 2 /u) as string,
    });
    expect(memory("import", "more.jsonl", "--replace").stdout).toMatch(/commit_\S+: 1 added, 0 updated, 0 unchanged, 1 removed\./u);
    const elsewhere = { LANCELOT_DATA: join(folder, "data2") };
    expect(run(["memory", "import", join(folder, "data/exports", files[2] ?? "")], elsewhere)).toMatchObject({ status: 0 });
    expect(run(["memory", "search", "node"], elsewhere).stdout).toContain("The build needs Node 22.");
  });

  it("runs jobs by their names, and by the old one", () => {
    expect(done("jobs")).toContain("memory_integrity_audit  ");
    expect(done("run", "memory_cleanup")).toMatch(/^memory_compact_working {2}[^]*run \S+: /u);
    expect(done("run", "memory_integrity_audit")).toMatch(/^memory_integrity_audit {2}[^]*run \S+: /u);
    expect(json("jobs")).toMatchObject({
      items: [{ last: { status: "run" } }, { last: null }, { last: null }, { last: { status: "run" } }],
    });
    const receipts = run(["call", "receipts.search", '{"query":"memory_job_run"}']).stdout;
    expect(receipts).toContain('"actionName": "memory_job_run"');
  });

  it("does not show another workspace's memories", () => {
    done("remember", "The staging port of the shop is 8443.");
    mkdirSync(join(folder, "other"));
    expect(done("search", "staging", "--workspace", join(folder, "other"))).not.toContain("mem_");
  });

  it("writes no control characters to the terminal", () => {
    writeFileSync(join(folder, "shop/x.jsonl"), `${JSON.stringify({ target: "archival", content: "The\u001b[2J port is\u0007 8443." })}\n`);
    memory("import", "x.jsonl");
    // oxlint-disable-next-line no-control-regex -- that is what is looked for
    expect(done("search", "port")).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/u);
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
  ])("says what to do about %s", (_name, args, said) => {
    const { status, stdout, stderr } = memory(...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(said);
  });

  it("names the flag while memory is off", () => {
    const off = run(["memory", "status"], { FEATURE_MEMORY_VNEXT: "false" });
    expect(off).toMatchObject({ status: 1, stdout: "" });
    expect(off.stderr).toContain("MEMORY_VNEXT");
  });

  it("appears in the help", () => {
    const help = run(["help"]).stdout;
    for (const word of ["remember", "forget", "commits", "quarantine", "export", "import", "jobs"]) expect(help).toContain(word);
  });
});
