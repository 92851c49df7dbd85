// @module-tag sandbox
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOverlayView } from "../../agent-server/sandbox/overlay/overlay-view.ts";
import { type OverlayView, scanLayer } from "../../agent-server/workspace/workspace.ts";
import { runs } from "../support/soak.ts";

const layer = (lower: string) => ({ name: "workspace", lower });
let root: string;
let view: OverlayView | null = null;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "overlay-scan-")));
});
afterEach(async () => {
  await view?.close();
  view = null;
  rmSync(root, { recursive: true, force: true });
});

/** Small trees over few names, so that operations meet. */
const names = ["a", "b", "c, d", "e:f", "g\nh"];
const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const kinds = ["write", "append", "remove", "folder", "touch", "rewrite", "rename", "copy", "hardlink", "link", "mode"] as const;
const operation = fc.record({
  kind: fc.constantFrom(...kinds),
  path,
  to: path,
  text: fc.constantFrom("", "one\n", "two\n"),
  mode: fc.constantFrom(0o600, 0o644, 0o755, 0o700),
});
interface Operation {
  readonly kind: (typeof kinds)[number];
  readonly path: string;
  readonly to: string;
  readonly text: string;
  readonly mode: number;
}

/** In place of `cpSync`, which ends the process at a link that leads to itself. */
function copyTree(from: string, to: string): void {
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  else if (stats.isFile()) copyFileSync(from, to);
  else {
    const names = readdirSync(from);
    mkdirSync(to);
    for (const name of names) copyTree(join(from, name), join(to, name));
  }
}

/** Applies an operation as far as the tree allows it. */
function apply(folder: string, one: Operation): void {
  const at = join(folder, one.path);
  try {
    if (one.kind === "write") {
      mkdirSync(join(at, ".."), { recursive: true });
      writeFileSync(at, one.text);
    } else if (one.kind === "append") appendFileSync(at, "more\n");
    else if (one.kind === "remove") rmSync(at, { recursive: true });
    else if (one.kind === "folder") mkdirSync(at, { recursive: true });
    else if (one.kind === "touch") utimesSync(at, 1, 1);
    else if (one.kind === "rewrite") writeFileSync(at, readFileSync(at));
    else if (one.kind === "rename") renameSync(at, join(folder, one.to));
    else if (one.kind === "copy" && !one.to.startsWith(`${one.path}/`)) copyTree(at, join(folder, one.to));
    else if (one.kind === "hardlink") linkSync(at, join(folder, one.to));
    else if (one.kind === "link") symlinkSync(one.to, at);
    else if (one.kind === "mode") chmodSync(at, one.mode);
  } catch {
    // What a path holds may not allow it.
  }
}

/** Everything below a folder, as one text for each path. */
function snapshot(folder: string, at = "", found = new Map<string, string>()): Map<string, string> {
  for (const name of readdirSync(join(folder, at))) {
    const inner = at === "" ? name : `${at}/${name}`;
    const stats = lstatSync(join(folder, inner));
    const mode = (stats.mode & 0o7777).toString(8);
    if (stats.isDirectory()) {
      found.set(inner, `folder ${mode}`);
      snapshot(folder, inner, found);
    } else if (stats.isSymbolicLink()) found.set(inner, `link ${readlinkSync(join(folder, inner))}`);
    else found.set(inner, `file ${mode} ${readFileSync(join(folder, inner), "utf8")}`);
  }
  return found;
}

describe("the scan of a task's layer", () => {
  it("names entries whose names are not text, and what stands in folders that a command closed", async () => {
    const lower = join(root, "work");
    mkdirSync(join(lower, "sub"), { recursive: true });
    const named = (folder: string, name: string) => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, "latin1")]);
    writeFileSync(named(lower, "gone-\xff"), "1");
    writeFileSync(named(join(lower, "sub"), "kept-\xfe"), "1");
    view = await openOverlayView({
      sandbox: "bubblewrap",
      folder: join(root, "task"),
      layers: [layer(lower)],
      env: process.env,
      owner: undefined,
    });
    const merged = view.merged(layer(lower));
    rmSync(named(merged, "gone-\xff"));
    writeFileSync(named(join(merged, "sub"), "new-\xfd"), "2");
    chmodSync(join(merged, "sub"), 0);
    const found = await scanLayer({ lower, upper: view.upper(layer(lower)), merged });
    expect(found.map(({ path: at, after }) => [at, after?.kind ?? null])).toEqual([
      ["gone-\0ff", null],
      ["sub", "folder"],
      ["sub/new-\0fd", "file"],
    ]);
  });

  it("lists exactly what a comparison of both trees finds, whatever was done, in several sessions", async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { maxLength: 25 }),
        fc.array(fc.array(operation, { maxLength: 12 }), { minLength: 1, maxLength: 3 }),
        async (earlier, sessions) => {
          const folder = join(root, `${round++}`);
          const lower = join(folder, "work, space:x");
          mkdirSync(lower, { recursive: true });
          for (const one of earlier) apply(lower, one);
          const before = snapshot(lower);
          for (const session of sessions) {
            const open = await openOverlayView({
              sandbox: "bubblewrap",
              folder: join(folder, "task"),
              layers: [layer(lower)],
              env: process.env,
              owner: undefined,
            });
            view = open;
            const merged = open.merged(layer(lower));
            for (const one of session) apply(merged, one);
            const found = await scanLayer({ lower, upper: open.upper(layer(lower)), merged });
            const after = snapshot(merged);
            const expected = [...new Set([...before.keys(), ...after.keys()])].filter((one) => before.get(one) !== after.get(one)).sort();
            expect(found.map((change) => change.path).sort()).toEqual(expected);
            for (const { path: at, before: was, after: now } of found) {
              expect(was?.kind ?? null).toBe(before.get(at)?.split(" ")[0] ?? null);
              expect(now?.kind ?? null).toBe(after.get(at)?.split(" ")[0] ?? null);
            }
            await open.close();
          }
          view = null;
          expect(snapshot(lower)).toEqual(before);
        },
      ),
      { numRuns: runs(30, 2_000) },
    );
  });
});
