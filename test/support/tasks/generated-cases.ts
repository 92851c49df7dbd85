import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOverlayView } from "../../../agent-server/sandbox/overlay/overlay-view.ts";
import {
  applyGenerated,
  findOpaque,
  generatedState,
  type OverlayView,
  scanLayer,
  undoGenerated,
} from "../../../agent-server/workspace/workspace.ts";
import { runs } from "../soak.ts";
import { anyTree, become, pictureOf } from "../tools/tree.ts";
import { openFolders, reverted } from "./view-cases.ts";

/** A folder in memory is another file system than the disk, in which case entries are copied. */
const places = [
  ["on one file system", tmpdir()],
  ["across file systems", "/dev/shm"],
] as const;

/** Tests of applying generated files, for whoever runs them. */
export function describeGeneratedFiles(): void {
  let root = "";
  let elsewhere = "";
  let lower = "";
  let task = "";
  let round = 0;
  let view: OverlayView | null = null;
  const layer = () => ({ name: "workspace", lower });
  const open = async (): Promise<{ merged: string; upper: string; view: OverlayView }> => {
    view = await openOverlayView({ sandbox: "bubblewrap", folder: task, layers: [layer()], env: process.env, owner: undefined });
    return { merged: view.merged(layer()), upper: view.upper(layer()), view };
  };
  const fresh = (place: string): void => {
    round += 1;
    lower = join(place, `work${round}`);
    task = join(root, `task${round}`);
    mkdirSync(lower);
  };
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-generated-")));
    elsewhere = realpathSync(mkdtempSync("/dev/shm/lancelot-generated-"));
    fresh(root);
  });
  afterEach(async () => {
    await view?.close();
    view = null;
    for (const folder of [root, elsewhere]) {
      openFolders(folder);
      rmSync(folder, { recursive: true, force: true });
    }
  });

  /** Closes the view and applies paths of it. */
  async function apply(paths: readonly string[], judgeName: (path: string) => "secret" | "protected" | null = () => null) {
    if (view === null) throw new Error("No view is open.");
    const upper = view.upper(layer());
    const opaque = await findOpaque({ lower, upper, merged: view.merged(layer()) }, paths);
    await view.close();
    return applyGenerated({ taskFolder: task, id: `apply${(round += 1)}`, upper, lower, opaque, paths, judgeName });
  }

  describe.each(places)("generated files %s", (_, place) => {
    const folder = () => (place === tmpdir() ? root : elsewhere);
    const leftovers = () => Object.keys(pictureOf(lower)).filter((name) => name.includes(".lancelot"));

    it("become the workspace's exactly, are undone exactly, and the task's view shows the same as before", async () => {
      await fc.assert(
        fc.asyncProperty(anyTree, anyTree, fc.nat(), fc.boolean(), async (before, after, number, all) => {
          fresh(folder());
          become(lower, before);
          const { merged } = await open();
          openFolders(merged);
          become(merged, after);
          const [was, now] = [pictureOf(lower), pictureOf(merged)];
          const everything = [...new Set([...Object.keys(was), ...Object.keys(now)])].sort();
          const one = everything[number % Math.max(1, everything.length)];
          const paths = all ? everything.filter((path) => !path.includes("/")) : one === undefined ? [] : [one];
          // Applying a path to the workspace is what reverting it in the view is, with the sides exchanged.
          const { picture, conflict } = all
            ? { picture: now, conflict: false }
            : one === undefined
              ? { picture: was, conflict: false }
              : reverted(now, was, one);
          const done = apply(paths);
          if (conflict) {
            await expect(done).rejects.toMatchObject({ code: "denied" });
            expect(pictureOf(lower)).toEqual(was);
          } else {
            const { journal } = await done;
            expect(pictureOf(lower)).toEqual(picture);
            const again = await open();
            expect(pictureOf(again.merged)).toEqual(now);
            const changes = (await scanLayer({ lower, upper: again.upper, merged: again.merged })).map((change) => change.path);
            expect(changes.filter((path) => paths.some((top) => path === top || path.startsWith(`${top}/`)))).toEqual([]);
            await again.view.close();
            const undo = await undoGenerated(journal);
            expect(undo.conflicts).toEqual([]);
            expect(pictureOf(lower)).toEqual(was);
            expect([generatedState(journal), generatedState(undo.journal)]).toEqual(["reverted", "applied"]);
            await expect(undoGenerated(journal)).rejects.toMatchObject({ code: "conflict" });
            const redo = await undoGenerated(undo.journal);
            expect(redo.conflicts).toEqual([]);
            expect(pictureOf(lower)).toEqual(picture);
          }
          expect(leftovers()).toEqual([]);
        }),
        { numRuns: runs(12, 1_000) },
      );
    });

    it("keep their owner's later changes when they are undone", async () => {
      fresh(folder());
      mkdirSync(join(lower, "dist"));
      for (const name of ["a.js", "b.js", "c.js"]) writeFileSync(join(lower, "dist", name), "old");
      const { merged } = await open();
      for (const name of ["a.js", "b.js", "d.js"]) writeFileSync(join(merged, "dist", name), "built");
      rmSync(join(merged, "dist/c.js"));
      const { journal } = await apply(["dist"]);
      writeFileSync(join(lower, "dist/a.js"), "changed by hand");
      writeFileSync(join(lower, "dist/c.js"), "made by hand");
      const { conflicts } = await undoGenerated(journal);
      expect([...conflicts].sort()).toEqual(["dist/a.js", "dist/c.js"]);
      const text = (name: string) => readFileSync(join(lower, "dist", name), "utf8");
      expect(["a.js", "b.js", "c.js"].map(text)).toEqual(["changed by hand", "old", "made by hand"]);
      expect(readdirSync(join(lower, "dist")).sort()).toEqual(["a.js", "b.js", "c.js"]);
    });

    it("are all applied or none, when the workspace changes meanwhile", async () => {
      fresh(folder());
      mkdirSync(join(lower, "dist"));
      // One file stays as it is, so that the others are replaced one by one.
      for (const name of ["a.js", "b.js", "c.js", "same.js"]) writeFileSync(join(lower, "dist", name), "old");
      const { merged } = await open();
      for (const name of ["a.js", "b.js", "c.js"]) writeFileSync(join(merged, "dist", name), "built");
      mkdirSync(join(merged, "new"));
      const now = pictureOf(merged);
      // The names are judged after the entry was looked at.
      const judge = (path: string) => {
        if (path === "new") writeFileSync(join(lower, "dist/c.js"), "changed by hand");
        return null;
      };
      await expect(apply(["dist", "new"], judge)).rejects.toMatchObject({ code: "conflict" });
      const texts = ["a.js", "b.js", "c.js"].map((name) => readFileSync(join(lower, "dist", name), "utf8"));
      expect(texts).toEqual(["old", "old", "changed by hand"]);
      expect(readdirSync(lower)).toEqual(["dist"]);
      expect(leftovers()).toEqual([]);
      expect(readdirSync(join(task, "generated"))).toEqual([]);
      expect(pictureOf((await open()).merged)).toEqual(now);
    });
  });

  describe("generated files", () => {
    it("that the workspace does not have, or that were recreated, are moved by one rename", async () => {
      for (const name of ["dist", "out/deep"]) mkdirSync(join(lower, name), { recursive: true });
      writeFileSync(join(lower, "dist/old.js"), "old");
      writeFileSync(join(lower, "out/deep/same.js"), "old");
      const { merged, upper } = await open();
      mkdirSync(join(merged, "node_modules/p/q"), { recursive: true });
      writeFileSync(join(merged, "node_modules/p/q/x.js"), "x");
      rmSync(join(merged, "dist"), { recursive: true });
      mkdirSync(join(merged, "dist"));
      writeFileSync(join(merged, "dist/new.js"), "new");
      rmSync(join(merged, "out"), { recursive: true });
      mkdirSync(join(merged, "out/deep"), { recursive: true });
      writeFileSync(join(merged, "out/deep/same.js"), "new");
      const paths = ["node_modules", "dist", "out"];
      const nodes = paths.map((name) => statSync(join(upper, name)).ino);
      const { steps, skipped } = await apply(paths);
      expect([steps, skipped]).toEqual([3, []]);
      expect(paths.map((name) => statSync(join(lower, name)).ino)).toEqual(nodes);
      expect(readdirSync(join(lower, "dist"))).toEqual(["new.js"]);
    });

    it("in a new folder show in the task's view together with what else is new there", async () => {
      // What was recreated is opaque, as every new folder is on some systems.
      mkdirSync(join(lower, "new/deep/old"), { recursive: true });
      const { merged, upper } = await open();
      rmSync(join(merged, "new"), { recursive: true });
      for (const name of ["new/deep/dist", "new/deep/src"]) mkdirSync(join(merged, name), { recursive: true });
      for (const name of ["new/deep/dist/a.js", "new/deep/src/a.ts"]) writeFileSync(join(merged, name), "text");
      const now = pictureOf(merged);
      rmSync(join(lower, "new"), { recursive: true });
      await apply(["new/deep/dist"]);
      expect(readdirSync(join(lower, "new/deep"))).toEqual(["dist"]);
      const again = await open();
      expect(pictureOf(again.merged)).toEqual(now);
      const changes = await scanLayer({ lower, upper, merged: again.merged });
      expect(changes.map(({ path }) => path)).toEqual(["new/deep/src", "new/deep/src/a.ts"]);
    });

    it("lose pipes and setuid bits, and share no content with what stays in the layer", async () => {
      const { merged, upper } = await open();
      for (const name of ["src", "dist/deep"]) mkdirSync(join(merged, name), { recursive: true });
      execFileSync("mkfifo", [join(merged, "dist/deep/pipe"), join(merged, "dist/deep/pipe2")]);
      writeFileSync(join(merged, "dist/deep/tool"), "tool");
      chmodSync(join(merged, "dist/deep/tool"), 0o6755);
      writeFileSync(join(merged, "src/a.js"), "source", { mode: 0o640 });
      linkSync(join(merged, "src/a.js"), join(merged, "dist/a.js"));
      writeFileSync(join(merged, "dist/one.js"), "one");
      linkSync(join(merged, "dist/one.js"), join(merged, "dist/other.js"));
      const { skipped } = await apply(["dist"]);
      expect([...skipped].sort()).toEqual(["dist/deep/pipe", "dist/deep/pipe2"]);
      expect(readdirSync(join(lower, "dist/deep"))).toEqual(["tool"]);
      expect(statSync(join(lower, "dist/deep/tool")).mode & 0o7777).toBe(0o755);
      expect(statSync(join(lower, "dist/a.js"))).toMatchObject({ nlink: 1, size: 6 });
      expect(statSync(join(lower, "dist/a.js")).mode & 0o777).toBe(0o640);
      expect(statSync(join(lower, "dist/one.js")).ino).toBe(statSync(join(lower, "dist/other.js")).ino);
      expect(readdirSync(upper)).toEqual(["src"]);
    });

    const plant: [string, (merged: string) => void, string][] = [
      ["a repository", (at) => mkdirSync(join(at, "dist/p/.git"), { recursive: true }), "dist/p/.git"],
      ["a repository in a dependency", (at) => mkdirSync(join(at, "node_modules/p/.GIT"), { recursive: true }), "node_modules/p/.GIT"],
      ["a link to a repository", (at) => symlinkSync("/tmp", join(at, "dist/.git")), "dist/.git"],
      [
        "a bare repository",
        (at) => ["objects", "refs", "HEAD"].forEach((name) => mkdirSync(join(at, "dist/x", name), { recursive: true })),
        "dist/x",
      ],
      [
        "a worktree's folder",
        (at) => ["HEAD", "commondir"].forEach((name) => mkdirSync(join(at, "dist/x", name), { recursive: true })),
        "dist/x",
      ],
      ["a part that makes a repository of a folder", (at) => writeFileSync(join(at, "half/HEAD"), "ref: x"), "half"],
      ["the deletion of a repository", (at) => rmSync(join(at, "kept"), { recursive: true }), "kept/p/.git"],
      [
        "the replacement of a repository",
        (at) => {
          rmSync(join(at, "kept"), { recursive: true });
          mkdirSync(join(at, "kept"));
        },
        "kept/p/.git",
      ],
      ["a secret", (at) => writeFileSync(join(at, "dist/.env"), "KEY=1"), "dist/.env"],
      ["the deletion of a secret", (at) => rmSync(join(at, "dist/.env.old")), "dist/.env.old"],
      [
        "settings",
        (at) => {
          mkdirSync(join(at, "dist/.vscode"));
          writeFileSync(join(at, "dist/.vscode/settings.json"), "{}");
        },
        "dist/.vscode/settings.json",
      ],
      ["a link that gives files a protected name", (at) => symlinkSync("x", join(at, "dist/.vscode")), "dist/.vscode"],
    ];
    it.each(plant)("are refused as a whole when they contain %s", async (_, change, refused) => {
      for (const name of ["dist", "kept/p/.git", "half/objects", "half/refs"]) mkdirSync(join(lower, name), { recursive: true });
      writeFileSync(join(lower, "dist/.env.old"), "KEY=0");
      const { merged } = await open();
      writeFileSync(join(merged, "dist/a.js"), "built");
      change(merged);
      const [was, now] = [pictureOf(lower), pictureOf(merged)];
      const judge = (path: string) =>
        /(^|\/)\.env/.test(path) ? "secret" : /(^|\/)\.vscode\/(settings|tasks)\.json$/.test(path) ? "protected" : null;
      const paths = ["dist", "node_modules", "kept", "half"];
      await expect(apply(paths, judge)).rejects.toMatchObject({ code: "denied", data: { paths: [refused] } });
      expect(pictureOf(lower)).toEqual(was);
      expect(pictureOf((await open()).merged)).toEqual(now);
    });

    it("in dependency folders may have names that are protected elsewhere", async () => {
      const { merged } = await open();
      mkdirSync(join(merged, "node_modules/p"), { recursive: true });
      writeFileSync(join(merged, "node_modules/p/.npmrc"), "");
      await apply(["node_modules"], (path) => (path.endsWith(".npmrc") ? "protected" : null));
      expect(existsSync(join(lower, "node_modules/p/.npmrc"))).toBe(true);
    });

    it("are not applied or undone through a link above them", async () => {
      const outside = join(root, "outside");
      for (const name of [outside, join(lower, "app/dist")]) mkdirSync(name, { recursive: true });
      writeFileSync(join(outside, "x.js"), "theirs");
      writeFileSync(join(lower, "app/dist/same.js"), "same");
      const first = await open();
      writeFileSync(join(first.merged, "app/dist/x.js"), "built");
      const { journal } = await apply(["app/dist"]);
      const swap = () => {
        renameSync(join(lower, "app/dist"), join(lower, "app/away"));
        symlinkSync(outside, join(lower, "app/dist"));
      };
      swap();
      expect((await undoGenerated(journal)).conflicts).toEqual(["app/dist/x.js"]);
      rmSync(join(lower, "app/dist"));
      renameSync(join(lower, "app/away"), join(lower, "app/dist"));
      const second = await open();
      writeFileSync(join(second.merged, "app/dist/x.js"), "built again");
      let swapped = false;
      const judge = (path: string) => {
        if (path === "app/dist/x.js" && !swapped) {
          swapped = true;
          swap();
        }
        return null;
      };
      await expect(apply(["app/dist"], judge)).rejects.toMatchObject({ code: "denied" });
      expect(pictureOf(outside)).toEqual({ "x.js": expect.stringContaining("file") });
      expect(readFileSync(join(outside, "x.js"), "utf8")).toBe("theirs");
      expect(lstatSync(join(lower, "app/dist")).isSymbolicLink()).toBe(true);
    });

    it("with names that are no UTF-8 are merged and undone", async () => {
      mkdirSync(join(lower, "dist"));
      const odd = (folder: string, name: number[]) => Buffer.concat([Buffer.from(`${folder}/dist/`), Buffer.from(name)]);
      writeFileSync(odd(lower, [0x61, 0xff]), "old");
      const { merged } = await open();
      writeFileSync(odd(merged, [0x62, 0xfe]), "new");
      rmSync(odd(merged, [0x61, 0xff]));
      const names = () => readdirSync(join(lower, "dist"), { encoding: "latin1" });
      const { journal } = await apply(["dist"]);
      expect(names()).toEqual(["b\xfe"]);
      await undoGenerated(journal);
      expect(names()).toEqual(["a\xff"]);
    });
  });
}
