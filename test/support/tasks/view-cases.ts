import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOverlayView } from "../../../agent-server/sandbox/overlay/overlay-view.ts";
import {
  dropFromLayer,
  findOpaque,
  type OverlayView,
  putInView,
  revertInView,
  scanLayer,
} from "../../../agent-server/workspace/workspace.ts";
import { openIfFolder, withFolders } from "../../../agent-server/workspace/tasks/folder-descriptors.ts";
import { runs } from "../soak.ts";
import { anyTree, become, pictureOf } from "../tools/tree.ts";

type Picture = Record<string, string>;

/** Makes folders writable, so that an ordinary user can change what is in them. */
export function openFolders(folder: string | Buffer): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true, encoding: "buffer" }))
    if (entry.isDirectory()) openFolders(Buffer.concat([Buffer.from(folder), Buffer.from("/"), entry.name]));
}

const isFolder = (picture: Picture, path: string): boolean => path === "." || picture[path]?.startsWith("folder") === true;
const isAtOrBelow = (path: string, top: string): boolean => path === top || path.startsWith(`${top}/`);

/** The folders above a path, the top one first. */
function above(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** What the view shows after a path was reverted, and whether a file or link of the task is above the path. */
export function reverted(lower: Picture, view: Picture, path: string): { picture: Picture; conflict: boolean } {
  const inLower = path in lower;
  const broken = above(path).find((folder) => folder in view && !isFolder(view, folder));
  if (broken !== undefined) return { picture: view, conflict: inLower };
  const picture = Object.fromEntries(Object.entries(view).filter(([one]) => !isAtOrBelow(one, path)));
  if (inLower) {
    for (const folder of above(path)) picture[folder] ??= lower[folder] ?? "";
    for (const [one, entry] of Object.entries(lower)) if (isAtOrBelow(one, path)) picture[one] = entry;
  }
  return { picture, conflict: false };
}

/** Tests of files in a task's view, for whoever runs them. */
export function describeTaskViews(): void {
  let root = "";
  let lower = "";
  let round = 0;
  let open: OverlayView | null = null;
  const layer = () => ({ name: "workspace", lower });
  const view = async (): Promise<OverlayView> => {
    open = await openOverlayView({
      sandbox: "bubblewrap",
      folder: join(root, `task${round}`),
      layers: [layer()],
      env: process.env,
      owner: undefined,
    });
    return open;
  };
  const fresh = (): void => {
    round += 1;
    lower = join(root, `work${round}`);
    mkdirSync(lower);
  };
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-task-view-")));
    fresh();
  });
  afterEach(async () => {
    await open?.close();
    open = null;
    openFolders(root);
    rmSync(root, { recursive: true, force: true });
  });

  const trees = [anyTree, anyTree, fc.nat()] as const;
  const choose = (one: Picture, other: Picture, number: number): string | null => {
    const paths = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
    return paths[number % Math.max(1, paths.length)] ?? null;
  };

  describe("a path of an open view", () => {
    it("shows what the workspace has after it was reverted, and everything else stays", async () => {
      await fc.assert(
        fc.asyncProperty(...trees, async (before, after, number) => {
          fresh();
          become(lower, before);
          const opened = await view();
          const merged = opened.merged(layer());
          openFolders(merged);
          become(merged, after);
          const [was, now] = [pictureOf(lower), pictureOf(merged)];
          const path = choose(was, now, number);
          if (path !== null) {
            const { picture, conflict } = reverted(was, now, path);
            const done = revertInView({ merged, lower }, path);
            if (conflict) await expect(done).rejects.toMatchObject({ code: expect.stringMatching(/conflict|denied/) });
            else await done;
            expect(pictureOf(merged)).toEqual(picture);
          }
          expect(pictureOf(lower)).toEqual(was);
          await opened.close();
        }),
        { numRuns: runs(12, 1_000) },
      );
    });

    it("gets a file, with the folders above it, or loses it", async () => {
      mkdirSync(join(lower, "src"), { mode: 0o750 });
      writeFileSync(join(lower, "src/a.ts"), "one\n");
      const opened = await view();
      const folders = { merged: opened.merged(layer()), lower };
      await putInView(folders, "src/a.ts", Buffer.from("two\n"), 0o755);
      await putInView(folders, "new/deep/b.ts", Buffer.from("b\n"), 0o600);
      expect(readFileSync(join(folders.merged, "src/a.ts"), "utf8")).toBe("two\n");
      expect(statSync(join(folders.merged, "src/a.ts")).mode & 0o7777).toBe(0o755);
      expect(statSync(join(folders.merged, "src")).mode & 0o7777).toBe(0o750);
      expect(statSync(join(folders.merged, "new/deep/b.ts")).mode & 0o7777).toBe(0o600);
      await putInView(folders, "src/a.ts", null, 0);
      await putInView(folders, "nowhere/c.ts", null, 0);
      const changes = await scanLayer({ ...folders, upper: opened.upper(layer()) });
      expect(changes.map(({ path, after }) => [path, after?.kind ?? null])).toEqual([
        ["new", "folder"],
        ["new/deep", "folder"],
        ["new/deep/b.ts", "file"],
        ["src/a.ts", null],
      ]);
      expect(readFileSync(join(lower, "src/a.ts"), "utf8")).toBe("one\n");
    });

    it("may have a name that is no UTF-8: as the scan names it, it is written and reverted", async () => {
      const named = (folder: string, ...bytes: number[]) => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(bytes)]);
      mkdirSync(named(lower, 0x61, 0xff));
      const opened = await view();
      const folders = { merged: opened.merged(layer()), lower };
      const scan = async () => (await scanLayer({ ...folders, upper: opened.upper(layer()) })).map(({ path }) => path);
      writeFileSync(named(folders.merged, 0x61, 0xff, 0x2f, 0xe9), "written");
      const [path = ""] = await scan();
      expect(await scan()).toEqual([path]);
      await putInView(folders, path, Buffer.from("two"), 0o644);
      expect(readFileSync(named(folders.merged, 0x61, 0xff, 0x2f, 0xe9), "utf8")).toBe("two");
      await revertInView(folders, path);
      expect(await scan()).toEqual([]);
      // An escape of ASCII is no name: it would be a way out.
      for (const wrong of ["\x002e\x002e/a", "a\x002fb", "a\x00"])
        await expect(putInView(folders, wrong, Buffer.from("x"), 0o644)).rejects.toMatchObject({ code: "invalid_params" });
    });

    it("is written in a read-only folder, which stays read-only", async () => {
      mkdirSync(join(lower, "closed"));
      writeFileSync(join(lower, "closed/a"), "one", { mode: 0o444 });
      chmodSync(join(lower, "closed"), 0o555);
      const opened = await view();
      const folders = { merged: opened.merged(layer()), lower };
      await putInView(folders, "closed/a", Buffer.from("two"), 0o444);
      await revertInView(folders, "closed/a");
      await putInView(folders, "closed/b", Buffer.from("new"), 0o644);
      expect(pictureOf(folders.merged)).toEqual({ ...pictureOf(lower), "closed/b": expect.stringContaining("file 644") });
    });

    it("is never reached through a link that a command planted", async () => {
      const outside = join(root, "outside");
      mkdirSync(outside);
      writeFileSync(join(outside, "a.ts"), "theirs");
      mkdirSync(join(lower, "src/deep"), { recursive: true });
      writeFileSync(join(lower, "src/a.ts"), "mine");
      writeFileSync(join(lower, "src/deep/a.ts"), "mine");
      const opened = await view();
      const folders = { merged: opened.merged(layer()), lower };
      rmSync(join(folders.merged, "src"), { recursive: true });
      symlinkSync(outside, join(folders.merged, "src"));
      mkdirSync(join(folders.merged, "plain"));
      symlinkSync(join(outside, "a.ts"), join(folders.merged, "plain/a.ts"));
      const denied = { code: "denied" };
      await expect(putInView(folders, "src/a.ts", Buffer.from("x"), 0o644)).rejects.toMatchObject(denied);
      await expect(putInView(folders, "src/new/a.ts", Buffer.from("x"), 0o644)).rejects.toMatchObject(denied);
      await expect(putInView(folders, "src/a.ts", null, 0)).rejects.toMatchObject(denied);
      await expect(revertInView(folders, "src/deep/a.ts")).rejects.toMatchObject(denied);
      await expect(putInView(folders, "../outside/a.ts", Buffer.from("x"), 0o644)).rejects.toMatchObject({ code: "invalid_params" });
      // A link at the path itself is replaced.
      await putInView(folders, "plain/a.ts", Buffer.from("x"), 0o644);
      expect(lstatSync(join(folders.merged, "plain/a.ts")).isFile()).toBe(true);
      await revertInView(folders, "src");
      expect(lstatSync(join(folders.merged, "src")).isDirectory()).toBe(true);
      expect(pictureOf(outside)).toEqual({ "a.ts": expect.stringContaining("file") });
      expect(readFileSync(join(outside, "a.ts"), "utf8")).toBe("theirs");
    });
  });

  it("a folder is opened without a link on the way, wherever that stands", async () => {
    mkdirSync(join(lower, "a/b"), { recursive: true });
    symlinkSync("a", join(lower, "link"));
    symlinkSync("b", join(lower, "a/inner"));
    const found = await withFolders([lower], (folder) =>
      Promise.resolve(
        ["a/b", "link", "link/b", "a/inner"].map((path) => {
          const opened = openIfFolder(folder, path);
          if (opened !== null) closeSync(opened);
          return opened !== null;
        }),
      ),
    );
    expect(found).toEqual([true, false, false, false]);
  });

  describe("a path of a closed layer", () => {
    it("shows through after it was dropped, and everything else stays hidden or shown", async () => {
      await fc.assert(
        fc.asyncProperty(...trees, fc.boolean(), async (before, after, number, twice) => {
          fresh();
          become(lower, before);
          let opened = await view();
          openFolders(opened.merged(layer()));
          become(opened.merged(layer()), after);
          const [was, now] = [pictureOf(lower), pictureOf(opened.merged(layer()))];
          const path = choose(was, now, number);
          if (path !== null) {
            const upper = opened.upper(layer());
            const opaque = await findOpaque({ lower, upper, merged: opened.merged(layer()) }, [path]);
            await opened.close();
            const { picture, conflict } = reverted(was, now, path);
            const done = dropFromLayer({ upper, lower, opaque }, path);
            if (conflict) await expect(done).rejects.toMatchObject({ code: "conflict" });
            else await done;
            if (twice && !conflict) await dropFromLayer({ upper, lower, opaque: new Map() }, path);
            opened = await view();
            expect(pictureOf(opened.merged(layer()))).toEqual(picture);
            if (!conflict && path in was) {
              // What shows through is the workspace's own, also when that changes.
              expect(lstatSync(join(upper, path), { throwIfNoEntry: false })).toBeUndefined();
            }
          }
          expect(pictureOf(lower)).toEqual(was);
          expect(readdirSync(dirname(opened.upper(layer()))).sort()).toEqual(["lower", "upper", "work"]);
          await opened.close();
        }),
        { numRuns: runs(12, 1_000) },
      );
    });

    it("takes the folders above it along that became empty and equal, and keeps what is in a folder whose permissions alone are dropped", async () => {
      mkdirSync(join(lower, "a/b"), { recursive: true });
      for (const name of ["one", "two"]) writeFileSync(join(lower, "a/b", name), name);
      let opened = await view();
      writeFileSync(join(opened.merged(layer()), "a/b/one"), "changed");
      writeFileSync(join(opened.merged(layer()), "a/b/three"), "new");
      chmodSync(join(opened.merged(layer()), "a/b"), 0o700);
      const upper = opened.upper(layer());
      await opened.close();
      const closed = { upper, lower, opaque: new Map<string, string[]>() };
      await dropFromLayer(closed, "a/b", "entry");
      opened = await view();
      expect((await scanLayer({ lower, upper, merged: opened.merged(layer()) })).map(({ path }) => path)).toEqual(["a/b/one", "a/b/three"]);
      await opened.close();
      await dropFromLayer(closed, "a/b/one");
      expect(existsSync(join(upper, "a/b/three"))).toBe(true);
      await dropFromLayer(closed, "a/b/three");
      expect(readdirSync(upper)).toEqual([]);
    });

    it("is dropped without following a link of the layer", async () => {
      const outside = join(root, "outside");
      mkdirSync(join(outside, "b"), { recursive: true });
      const opened = await view();
      symlinkSync(outside, join(opened.merged(layer()), "a"));
      await opened.close();
      await dropFromLayer({ upper: opened.upper(layer()), lower, opaque: new Map() }, "a/b");
      expect(readdirSync(outside)).toEqual(["b"]);
      expect(readlinkSync(join(opened.upper(layer()), "a"))).toBe(outside);
    });
  });
}
