import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CopiedPaths } from "../../../agent-server/sandbox/copy/copied-paths.ts";
import { planCopy } from "../../../agent-server/sandbox/copy/copy-in.ts";
import type { ListedEntry, Listing } from "../../../agent-server/sandbox/copy/copy-listing.ts";
import { keptFiles, receiveChanges, sortChanges } from "../../../agent-server/sandbox/copy/copy-out.ts";
import { TarError } from "../../../agent-server/sandbox/copy/tar-reader.ts";
import { type TarEntry, tarEnd, tarHeader, tarPadding } from "../../../agent-server/sandbox/copy/tar-writer.ts";
import type { ViewFile, ViewFiles } from "../../../agent-server/workspace/workspace.ts";
import { removeTree } from "../../support/remove-tree.ts";

type Kind = ListedEntry["kind"];

/** Entries as `kind[:size[:stamp]]`, old enough for no later change to hide. */
function listing(entries: Readonly<Record<string, string>>): Listing {
  const all = Object.entries({ "": "folder", "\0clock": "other:0:clock", ...entries });
  return new Map(
    all.map(([path, of]) => {
      const [kind = "file", size = "1", stamp = "s"] = of.split(":");
      const changed = stamp === "clock" ? 10_000_000_001n : 1_000_000_001n;
      return [path, { kind: kind as Kind, mode: 0o644, size: kind === "file" ? Number(size) : 0, changed, stamp: `${of} ${stamp}` }];
    }),
  );
}

function view(entries: Readonly<Record<string, ViewFile["kind"]>>): ViewFiles {
  return new Map(
    Object.entries(entries).map(([path, kind]) => [path, { kind, mode: 0o644, size: 1, mtime: 1, stamp: path, isRacy: false, target: "" }]),
  );
}

/** Ignores `dist` and `node_modules`, masks `.env`. */
const paths: CopiedPaths = {
  ignored: (entries) =>
    Promise.resolve(new Set(entries.map(({ path }) => path).filter((path) => /(^|\/)(dist|node_modules)(\/|$)/.test(path)))),
  isMasked: (path) => /(^|\/)\.env(\/|$)/.test(path),
};
const limits = { file: 100, total: 150 };

describe("changes in a copy", () => {
  const sort = (before: Record<string, string>, after: Record<string, string>, wanted: Record<string, ViewFile["kind"]>) =>
    sortChanges({ before: listing(before), after: listing(after), wanted: view(wanted), paths, limits });

  it("are sorted: taken out, ignored, secret, special and too large", async () => {
    const before = { "a.txt": "file", "gone.txt": "file", ".env": "file", src: "folder", node_modules: "folder", "node_modules/x": "file" };
    const after = {
      ...{ "a.txt": "file:2", ".env": "file:9", src: "folder", "src/new": "folder", "src/new/b.txt": "file", "src/link": "link" },
      ...{ node_modules: "folder", "node_modules/y": "file", dist: "folder", "dist/deep": "folder", "dist/deep/o.js": "file" },
      ...{ pipe: "other", "large.bin": "file:101", "src/one.bin": "file:90", "src/two.bin": "file:90" },
    };
    const wanted = { "a.txt": "file", "gone.txt": "file", ".env": "file", src: "folder" } as const;
    const changes = await sort(before, after, wanted);
    expect(changes).toMatchObject({ removed: ["gone.txt"], secret: [".env"], special: ["pipe"], tooLarge: ["large.bin", "src/two.bin"] });
    expect(changes.taken).toEqual(["a.txt", "src/link", "src/new", "src/new/b.txt", "src/one.bin"]);
    expect(changes.generated.map(({ path, change }) => `${path} ${change}`).toSorted()).toEqual([
      "dist/deep/o.js created",
      "node_modules/x deleted",
      "node_modules/y created",
    ]);
  });

  it("leave in the copy what git ignores and what is too large, of this command and of earlier ones", () => {
    const inside = {
      ...{ "a.txt": "file", "new.txt": "file", ".env": "file", pipe: "other", node_modules: "folder", "node_modules/old.js": "file" },
      ...{ "node_modules/link": "link", "big.bin": "file:101", "grown.bin": "file:101" },
    };
    const kept = keptFiles(listing(inside), {
      ...{ wanted: view({ "a.txt": "file", "grown.bin": "file", gone: "file" }), taken: ["new.txt"], paths },
      heldBack: new Set(["big.bin", "grown.bin", "gone"]),
    });
    expect(kept.map(({ path, change }) => `${path} ${change}`)).toEqual([
      "node_modules/old.js created",
      "big.bin created",
      "grown.bin modified",
    ]);
  });

  it("never take what the copy did not have: ignored files of the workspace in a removed folder stay", async () => {
    expect(await sort({ src: "folder", "src/a": "file" }, {}, { src: "folder", "src/a": "file" })).toMatchObject({
      removed: ["src", "src/a"],
      taken: [],
    });
  });

  it("of the kind of an entry remove it first", async () => {
    const changes = await sort({ a: "folder", "a/b": "file" }, { a: "file" }, { a: "folder", "a/b": "file" });
    expect(changes).toMatchObject({ removed: ["a", "a/b"], taken: ["a"] });
  });
});

describe("a copy before a command", () => {
  const nothing = { same: new Map<string, { here: string; there: string }>(), heldBack: new Set<string>() };

  it("loses what the view does not have, except ignored files, pipes and what was held back", async () => {
    const inside = listing({ a: "file", left: "folder", "left/x": "file", dist: "folder", "dist/o": "file", pipe: "other", big: "file" });
    const steps = await planCopy(view({ a: "file" }), inside, { ...nothing, heldBack: new Set(["big"]) }, paths);
    expect(steps).toEqual({ remove: ["left"], send: ["a"] });
  });

  it("gets only what differs here or there, and loses an entry of another kind first", async () => {
    const same = { here: "a", there: listing({ a: "file" }).get("a")?.stamp ?? "" };
    const known = {
      ...nothing,
      same: new Map([
        ["a", same],
        ["b", { here: "b", there: "another" }],
        ["c", { ...same, here: "older" }],
      ]),
    };
    const inside = listing({ a: "file", b: "file", c: "file", d: "link", e: "folder" });
    const steps = await planCopy(view({ a: "file", b: "file", c: "file", d: "folder", "d/x": "file", e: "folder" }), inside, known, paths);
    expect(steps).toEqual({ remove: ["d"], send: ["b", "c", "d", "d/x"] });
  });
});

describe("what an engine sends", () => {
  let base: string;
  let folder: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "lancelot-arrivals-"));
    folder = join(base, "arrivals");
  });
  afterEach(() => removeTree(base));

  const owner = { mode: 0o644, mtime: 5, uid: 0, gid: 0 };
  const file = (path: string, content = "abc"): Buffer =>
    Buffer.concat([tarHeader({ ...owner, kind: "file", path, size: content.length }), Buffer.from(content), tarPadding(content.length)]);
  const other = (of: Partial<TarEntry> & { path: string }): Buffer => tarHeader({ ...owner, kind: "link", size: 0, ...of });
  /** The header of a file as one of another type. */
  const ofType = (type: string, path: string, target = ""): Buffer => {
    const header = other({ path, target });
    header.write(type, 156, "latin1");
    header.fill(" ", 148, 156);
    header.write(
      `${header
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0")}\0 `,
      148,
      "latin1",
    );
    return header;
  };
  const receive = (taken: readonly string[], after: Record<string, string>, parts: readonly Buffer[]) =>
    receiveChanges(
      { removed: [], taken },
      {
        ...{ before: listing({}), after: listing(after), folder },
        pack: async function* () {
          yield await Promise.resolve(Buffer.concat([...parts, tarEnd]));
        },
      },
    );

  it("arrives in a folder of its own; hard links are files, and links keep their target", async () => {
    const after = { a: "file:3", b: "file:3", l: "link", f: "folder" };
    const parts = [file("./a"), ofType("1", "./b", "./a"), other({ path: "./l", target: "../../etc/passwd" })];
    const { entries } = await receive(["a", "b", "f", "l"], after, parts);
    expect(entries.map(({ path, kind, target }) => [path, kind, target])).toEqual([
      ["a", "file", ""],
      ["b", "file", ""],
      ["f", "folder", ""],
      ["l", "link", "../../etc/passwd"],
    ]);
    expect(entries.slice(0, 2).map(({ content }) => readFileSync(content, "utf8"))).toEqual(["abc", "abc"]);
    expect(readdirSync(base)).toEqual(["arrivals"]);
  });

  it.each<[string, Buffer[]]>([
    ["a file that was not asked for", [file("./b")]],
    ["a file in a folder above", [file("./../a")]],
    ["an absolute path", [file("/tmp/a")]],
    ["a file twice", [file("./a"), file("./a")]],
    ["more than was announced", [file("./a", "abcd")]],
    ["less than was announced", [file("./a", "ab")]],
    ["nothing", []],
    ["a link in place of a file", [other({ path: "./a", target: "/etc/passwd" })]],
    ["a hard link to a file of this machine", [ofType("1", "./a", "/etc/passwd")]],
    ["a hard link to itself", [ofType("1", "./a", "./a")]],
    ["a pipe", [ofType("6", "./a")]],
    ["a device", [ofType("3", "./a")]],
    ["a folder", [other({ path: "./a", kind: "folder" })]],
    ["an archive without end", [file("./a").subarray(0, 513)]],
  ])("is refused for %s, and nothing leaves its folder", async (_name, parts) => {
    await expect(receive(["a"], { a: "file:3" }, parts)).rejects.toBeInstanceOf(TarError);
    expect(readdirSync(base)).toEqual(["arrivals"]);
    expect(existsSync(join(tmpdir(), "a"))).toBe(false);
  });
});
