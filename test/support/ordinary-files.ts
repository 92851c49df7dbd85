import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "../..");
/** What people write and tools print; source maps and other encoded data have no lines. */
const isText =
  /\.(?:[cm]?[jt]sx?|json|md|markdown|txt|ya?ml|toml|html|css|svg|xml|sh|ps1|py|c|cc|cpp|h|hpp|gypi?|proto|eslintrc|npmignore)$/;
/** Of these a package has so many that a part says as much. */
const isPlentiful = /\.(?:[cm]?[jt]s|h|svg)$/;
/** The project's own files; its tests hold secrets on purpose. */
const own = [
  "agent-server",
  "extension",
  "webviews",
  "config",
  "docs",
  "soul",
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "package-lock.json",
  "package.json",
];

export interface OrdinaryFile {
  readonly path: string;
  readonly text: string;
}

/** Sources, documentation and data of this project and of the packages it uses; of the most frequent kinds one file in `every`. */
export function* ordinaryFiles(every: number): Generator<OrdinaryFile> {
  const seen = new Set<string>();
  const taken = (path: string): boolean => {
    if (!isText.test(path)) return false;
    return !isPlentiful.test(path) || (createHash("sha256").update(path).digest()[0] ?? 0) % every === 0;
  };
  function* walk(folder: string): Generator<OrdinaryFile> {
    for (const entry of readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) yield* walk(path);
      else if (entry.isFile()) yield* read(path, folder.includes("node_modules") ? taken : (name) => isText.test(name));
    }
  }
  function* read(path: string, isTaken: (path: string) => boolean): Generator<OrdinaryFile> {
    const name = relative(root, path);
    if (!isTaken(name) || statSync(path).size > 600_000) return;
    const text = readFileSync(path, "utf8");
    const digest = createHash("sha256").update(text).digest("base64");
    if (seen.has(digest)) return;
    seen.add(digest);
    yield { path: name, text };
  }
  for (const name of own) {
    const path = join(root, name);
    if (statSync(path).isDirectory()) yield* walk(path);
    else yield* read(path, () => true);
  }
  yield* walk(join(root, "node_modules"));
}
