import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";

/** A small tree: folders by name, files with bytes and permissions, links with targets. */
export type Node =
  | { readonly kind: "file"; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "folder"; readonly mode: number; readonly entries: Readonly<Record<string, Node>> };

// Few names, so that two trees often have different things at one path.
const names = ["a", "b", "A", "c d", "é.txt", "-x", "$(y)", "z.bin"];

/** Trees of at most four levels. */
export const anyTree = fc.letrec<{ node: Node; folder: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    {
      arbitrary: fc.record({
        kind: fc.constant("file" as const),
        bytes: fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.string({ maxLength: 100 }).map((text) => new TextEncoder().encode(text)),
        ),
        mode: fc.constantFrom(0o644, 0o755, 0o600, 0o444, 0o400),
      }),
      weight: 4,
    },
    {
      arbitrary: fc.record({
        kind: fc.constant("link" as const),
        target: fc.constantFrom("a", "b", "nowhere", "../b", ".", "A/a", "/etc/hostname"),
      }),
      weight: 1,
    },
    { arbitrary: tie("folder"), weight: 2 },
  ),
  folder: fc.record({
    kind: fc.constant("folder" as const),
    mode: fc.constantFrom(0o755, 0o700, 0o555),
    entries: fc.dictionary(fc.constantFrom(...names), tie("node"), { maxKeys: 5, noNullPrototype: true }),
  }),
})).folder as fc.Arbitrary<Extract<Node, { kind: "folder" }>>;

/** Makes what a folder holds a tree; what is as it is to be already is not written again. */
export function become(path: string, tree: Extract<Node, { kind: "folder" }>): void {
  for (const name of readdirSync(path)) if (!(name in tree.entries)) remove(join(path, name));
  for (const [name, node] of Object.entries(tree.entries)) place(join(path, name), node);
}

function place(path: string, node: Node): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  const same =
    stats !== undefined && (node.kind === "folder" ? stats.isDirectory() : node.kind === "link" ? stats.isSymbolicLink() : stats.isFile());
  if (stats !== undefined && !same) remove(path);
  if (node.kind === "link") {
    if (same && readlinkSync(path) === node.target) return;
    if (same) remove(path);
    symlinkSync(node.target, path);
  } else if (node.kind === "file") {
    if (!same || !readFileSync(path).equals(node.bytes)) {
      if (same) chmodSync(path, 0o644);
      writeFileSync(path, node.bytes);
    }
    chmodSync(path, node.mode);
  } else {
    if (!same) mkdirSync(path);
    chmodSync(path, 0o755);
    become(path, node);
    chmodSync(path, node.mode);
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** Everything below a folder: kinds, permissions, bytes, targets. */
export function pictureOf(folder: string): Record<string, string> {
  const picture: Record<string, string> = {};
  const visit = (at: string, below: string): void => {
    for (const name of readdirSync(at).toSorted()) {
      const path = join(at, name);
      const stats = lstatSync(path);
      const mode = (stats.mode & 0o7777).toString(8);
      const key = `${below}${name}`;
      if (stats.isDirectory()) {
        picture[key] = `folder ${mode}`;
        visit(path, `${key}/`);
      } else if (stats.isSymbolicLink()) picture[key] = `link ${readlinkSync(path)}`;
      else picture[key] = `file ${mode} ${readFileSync(path).toString("base64")}`;
    }
  };
  visit(folder, "");
  return picture;
}
