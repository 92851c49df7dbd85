import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOverlayView } from "../../../agent-server/sandbox/overlay/overlay-view.ts";
import { moments, runs } from "../soak.ts";
import { type FoldersHost, openFoldersHost } from "./folders-fixture.ts";

const day = 24 * 60 * 60_000;
const main = (name: string) => join(import.meta.dirname, `${name}/main.ts`);

/** Tests of the folders of tasks, for whoever runs them. */
export function describeTaskFolders(): void {
  let root = "";
  let dataDir = "";
  let workspace = "";
  let hosts: FoldersHost[] = [];
  const open = (settings = { max_task_bytes: 1e12, keep_task_days: 30 }): FoldersHost => {
    const host = openFoldersHost(dataDir, workspace, settings);
    hosts.push(host);
    return host;
  };
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-task-folders-")));
    [dataDir, workspace] = [join(root, "data"), join(root, "work")];
    mkdirSync(workspace);
    writeFileSync(join(workspace, "a.ts"), "mine");
    hosts = [];
  });
  afterEach(() => {
    for (const { storage } of hosts) storage.close();
    execFileSync("rm", ["-rf", root]);
  });

  const trashOf = () => readdirSync(join(dataDir, "tasks/.trash"));
  const fill = ({ folders }: FoldersHost, questId: string, bytes = 10_000): string => {
    const { folder, release } = folders.use(questId);
    mkdirSync(join(folder, "workspace/upper"), { recursive: true });
    writeFileSync(join(folder, "workspace/upper/a.ts"), Buffer.alloc(bytes, 1));
    release();
    return folder;
  };
  const age = (folder: string, days: number): void => {
    const at = new Date(Date.now() - days * day);
    utimesSync(folder, at, at);
  };
  const child = (questId: string, what: string) =>
    spawn(process.execPath, [main("task-folders-host"), dataDir, workspace, questId, what], { stdio: ["ignore", "pipe", "inherit"] });

  describe("the folder of a task", () => {
    it("is deleted with whatever it contains, and nothing outside of it", async () => {
      const host = open();
      const folder = fill(host, "q1");
      const outside = join(root, "outside");
      mkdirSync(outside);
      writeFileSync(join(outside, "kept"), "");
      mkdirSync(join(folder, "work/work"), { recursive: true });
      for (const name of ["closed", "read-only"]) {
        mkdirSync(join(folder, name));
        writeFileSync(join(folder, name, "file"), "");
      }
      symlinkSync(outside, join(folder, "link"));
      symlinkSync(join(outside, "kept"), join(folder, "closed/link"));
      execFileSync("mkfifo", [join(folder, "pipe")]);
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), "");
      // A path of 40,000 characters.
      execFileSync("bash", ["-c", `n=$(printf 'x%.0s' {1..100}); for i in {1..400}; do mkdir $n; cd -P ./$n; done; touch end; chmod 0 .`], {
        cwd: folder,
      });
      chmodSync(join(folder, "closed"), 0o000);
      chmodSync(join(folder, "read-only"), 0o555);
      chmodSync(join(folder, "work/work"), 0o000);
      const [listed] = await host.folders.list();
      expect(listed).toMatchObject({ questId: "q1", folder, workspace: "this" });
      expect(listed?.bytes).toBeGreaterThan(10_000);
      host.folders.remove("q1");
      expect(existsSync(folder)).toBe(false);
      expect(await host.folders.deleted()).toBe(0);
      expect(trashOf()).toEqual([]);
      expect(readdirSync(outside)).toEqual(["kept"]);
    });

    it("is deleted while it is mounted elsewhere, without what is shown there", async () => {
      const host = open();
      const folder = fill(host, "q1");
      const layer = { name: "workspace", lower: workspace };
      const view = await openOverlayView({ sandbox: "bubblewrap", folder, layers: [layer], env: process.env, owner: undefined });
      writeFileSync(join(view.merged(layer), "b.ts"), "task's");
      host.folders.remove("q1");
      await host.folders.deleted();
      await view.close();
      expect(await host.folders.deleted()).toBe(0);
      expect(trashOf()).toEqual([]);
      expect(readdirSync(workspace)).toEqual(["a.ts"]);
    });

    it("is in use by one window at a time, until that releases it or dies", async () => {
      const [one, other] = [open(), open()];
      const used = one.folders.use("q1");
      const again = one.folders.use("q1");
      const conflict = expect.objectContaining({ code: "conflict" });
      expect(() => other.folders.use("q1")).toThrow(conflict);
      expect(() => other.folders.remove("q1")).toThrow(conflict);
      expect(() => one.folders.remove("q1")).toThrow(conflict);
      used.release();
      used.release();
      expect(() => other.folders.remove("q1")).toThrow(conflict);
      again.release();
      const taken = other.folders.use("q1");
      taken.release();
      other.folders.remove("q1");
      expect(existsSync(one.folders.folderOf("q1"))).toBe(false);

      const host = child("q2", "use");
      await once(host.stdout, "data");
      expect(() => one.folders.remove("q2")).toThrow(conflict);
      host.kill("SIGKILL");
      await once(host, "exit");
      one.folders.remove("q2");
      expect(existsSync(one.folders.folderOf("q2"))).toBe(false);
    });

    it("is not removed before a half applied change of the workspace was ended", () => {
      const host = open();
      const folder = fill(host, "q1");
      mkdirSync(join(folder, "generated/x"), { recursive: true });
      writeFileSync(join(folder, "generated/x/state.json"), JSON.stringify({ status: "applying", placed: [] }));
      expect(host.folders.interrupted()).toEqual(["q1"]);
      expect(() => host.folders.remove("q1")).toThrow(expect.objectContaining({ code: "conflict" }));
      writeFileSync(join(folder, "generated/x/state.json"), JSON.stringify({ status: "done", placed: [] }));
      expect(host.folders.interrupted()).toEqual([]);
      host.folders.remove("q1");
      expect(existsSync(folder)).toBe(false);
    });

    it.each(["", ".", "..", "../x", "a/b", ".trash", "a\0b"])("has no path for the id %j", (questId) => {
      expect(() => open().folders.folderOf(questId)).toThrow(expect.objectContaining({ code: "invalid_params" }));
    });

    it("is deleted by the next host when one was killed meanwhile", async () => {
      const host = open();
      const build = (): string => {
        const folder = fill(host, "q1");
        for (let index = 0; index < 150; index += 1) {
          mkdirSync(join(folder, `node_modules/${index}/lib`), { recursive: true });
          for (const name of ["a", "b", "c"]) writeFileSync(join(folder, `node_modules/${index}/lib/${name}`), "");
        }
        return folder;
      };
      build();
      const timed = child("q1", "remove");
      await once(timed.stdout, "data");
      const begun = performance.now();
      await once(timed, "exit");
      const whole = performance.now() - begun;
      for (const moment of moments(runs(3, 50))) {
        const folder = build();
        const killed = child("q1", "remove");
        await once(killed.stdout, "data");
        setTimeout(() => killed.kill("SIGKILL"), moment * whole);
        await once(killed, "exit");
        // All of it is in its place, or none.
        if (existsSync(folder)) expect(readdirSync(join(folder, "node_modules"))).toHaveLength(150);
        expect(await host.folders.deleted()).toBe(0);
        expect(trashOf()).toEqual([]);
        host.folders.remove("q1");
        await host.folders.deleted();
      }
    });
  });

  describe("the collection of task folders", () => {
    const isQuestOpen = (questId: string) => questId.startsWith("open");
    const now = () => new Date();

    it("removes those of ended tasks by age, with a receipt", async () => {
      const host = open({ max_task_bytes: 1e12, keep_task_days: 7 });
      for (const questId of ["open-old", "ended-old", "ended-new", "ended-pending"]) fill(host, questId);
      for (const questId of ["open-old", "ended-old", "ended-pending"]) age(host.folders.folderOf(questId), 8);
      const at = new Date().toISOString();
      host.storage.db
        .prepare(
          `INSERT INTO changes (id, workspace, quest_id, absolute, path, kind, status, proposed, encoding, hunks, told, created_at, updated_at)
           VALUES ('c1', ?, 'ended-pending', '/a', 'a', 'create', 'pending', '', '{}', '[]', '{}', ?, ?)`,
        )
        .run(workspace, at, at);
      expect(await host.folders.collect({ isQuestOpen, now })).toMatchObject({ folders: 1 });
      expect((await host.folders.list()).map(({ questId }) => questId).sort()).toEqual(["ended-new", "ended-pending", "open-old"]);
      expect(await host.folders.collect({ isQuestOpen, now })).toEqual({ folders: 0, bytes: 0 });
      const receipts = host.ledger.search({ query: "tasks.collect", limit: 10 }).items;
      expect(receipts.map(({ status }) => status)).toEqual(["success"]);
      await host.folders.deleted();
      expect(trashOf()).toEqual([]);
    });

    it("removes those that were not used for the longest time until all fit, also of other workspaces and unknown tasks", async () => {
      const host = open({ max_task_bytes: 2_500_000, keep_task_days: 30 });
      const other = openFoldersHost(dataDir, join(root, "elsewhere"), { max_task_bytes: 1e12, keep_task_days: 30 });
      hosts.push(other);
      for (const [index, questId] of ["open-1", "ended-2", "ended-3", "ended-4"].entries()) age(fill(host, questId, 1_000_000), 10 - index);
      age(fill(other, "ended-5", 1_000_000), 9.5);
      const used = other.folders.use("ended-6");
      writeFileSync(join(used.folder, "big"), Buffer.alloc(100_000, 1));
      age(used.folder, 20);
      const { folders } = await host.folders.collect({ isQuestOpen, now });
      expect(folders).toBe(3);
      expect((await host.folders.list()).map(({ questId, workspace: of }) => [questId, of])).toEqual([
        ["ended-6", "other"],
        ["open-1", "this"],
        ["ended-4", "this"],
      ]);
      expect(readdirSync(dirname(used.folder))).toEqual(["ended-6"]);
      await host.folders.deleted();
    });
  });

  describe("a full disk", () => {
    it("is reported, and leaves everything as it was", () => {
      const full = join(root, "full");
      mkdirSync(full);
      const script = `mount -t tmpfs -o size=64k none "$1" && exec "$2" "$3" "$1" "$4"`;
      const output = execFileSync("unshare", ["-Urm", "sh", "-c", script, "sh", full, process.execPath, main("full-disk"), root], {
        encoding: "utf8",
      });
      expect(JSON.parse(output)).toEqual({
        put: "unavailable",
        apply: "unavailable",
        use: "unavailable",
        workspace: [["a.js"], "old"],
        layer: ["a.js", "b.js"],
      });
      rmSync(full, { recursive: true });
    });
  });
}
