import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { productPaths } from "../../../agent-server/paths.ts";
import { createPathPolicy, type PathPolicy } from "../../../agent-server/governance/policy/path-policy.ts";
import { globFilter } from "../../../agent-server/workspace/text/glob.ts";
import { createSecretIndex, type SecretIndex, type SecretPaths } from "../../../agent-server/workspace/tasks/secret-index.ts";
import { runs } from "../../support/soak.ts";

const key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

let base: string;
let workspace: string;
let policy: PathPolicy;
let index: SecretIndex;
const open = (now: () => number = Date.now) =>
  createSecretIndex({
    workspace,
    governance: { judgeName: policy.judgeName, isSecretFile: policy.isSecretFile, resolvePath: policy.resolve },
    hidden: [join(workspace, "hidden")],
    now,
  });
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-secrets-")));
  workspace = join(base, "project");
  mkdirSync(workspace);
  mkdirSync(join(base, "data"));
  policy = createPathPolicy({ workspace, dataDir: join(base, "data"), configDir: productPaths().configDir });
  index = open();
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** A clock that is ahead: nothing counts as just changed, so everything that is known is used. */
const longAfter = () => Date.now() + 60_000;

/** Waits until the file system's clock has moved on, so that the next change has another time. */
function tick(): void {
  const file = join(base, "tick");
  writeFileSync(file, "");
  const { ctimeMs } = statSync(file);
  while (statSync(file).ctimeMs === ctimeMs) writeFileSync(file, "");
}

const at = (path: string) => join(workspace, path);
function put(path: string, text = "x"): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
const search = (readable: readonly string[] = [], others: readonly string[] = []): Promise<SecretPaths> => {
  const globs = readable.map((glob) => globFilter(glob));
  return index.find({ others, isReadable: (path) => globs.some((matches) => matches(path)) });
};
/** What is hidden. */
const find = async (readable?: readonly string[], others?: readonly string[]): Promise<Omit<SecretPaths, "readable">> => {
  const { files, folders } = await search(readable, others);
  return { files, folders };
};

describe("secret files", () => {
  it("are those whose name, or content where it decides, is secret; folders of secrets count as one", async () => {
    for (const path of [
      ".env",
      "a/.env.local",
      "a/.env.example",
      "a/plain.txt",
      ".npmrc",
      ".ssh/config",
      "deep/.secrets/x/y",
      "a/new\nline.env",
    ])
      put(path);
    put("keys/server.pem", key);
    put("keys/ca.pem", certificate);
    expect(await find()).toEqual({
      files: [".env", ".npmrc", "a/.env.local", "a/new\nline.env", "keys/server.pem"],
      folders: [".ssh", "deep/.secrets"],
    });
  });

  it("include every hard link, also from a folder that is hidden as a whole or has not changed since", async () => {
    put("plain/one.txt");
    put(".ssh/id");
    put("other/two.txt");
    put("third/three.txt");
    expect(await find()).toEqual({ files: [], folders: [".ssh"] });
    linkSync(at("plain/one.txt"), at("other/.env"));
    linkSync(at(".ssh/id"), at("other/key.txt"));
    expect(await find()).toEqual({ files: ["other/.env", "other/key.txt", "plain/one.txt"], folders: [".ssh"] });
    linkSync(at("plain/one.txt"), at("third/one.txt"));
    expect((await find()).files).toContain("third/one.txt");
    rmSync(at("third/one.txt"));
    rmSync(at("other/.env"));
    expect(await find()).toEqual({ files: ["other/key.txt", "plain/one.txt"], folders: [".ssh"] });
  });

  it("include what a link with a secret name leads to, in the workspace only", async () => {
    put("config/development");
    put("conf/ssh/known");
    put("public/ca.txt", certificate);
    symlinkSync("config/development", at(".env"));
    symlinkSync("conf/ssh", at(".ssh"));
    symlinkSync("public/ca.txt", at("ca.pem"));
    symlinkSync("..", at("credentials"));
    symlinkSync(".", at(".aws"));
    symlinkSync("nowhere", at(".netrc"));
    writeFileSync(join(base, "outside"), "");
    symlinkSync("../outside", at(".pgpass"));
    expect(await find()).toEqual({ files: ["config/development"], folders: ["conf/ssh"] });
  });

  it("exclude what the user lets commands read, by name, glob or path", async () => {
    for (const path of [".env", ".env.test", "a/.env.test", "b/.env", ".env.d/x", ".secrets/open", ".secrets/closed", ".ssh/id"]) put(path);
    mkdirSync(at(".secrets/empty"));
    put("config/dev");
    symlinkSync("../config/dev", at("a/.env"));
    const readable = ["a/.env.test", "b/.env", ".secrets/open", ".ssh/**", "a/.env", ".env.test"];
    expect(await search(readable)).toEqual({
      files: [".env", ".secrets/closed"],
      folders: [".secrets/empty"],
      readable: [".env.test", ".secrets/open", ".ssh/id", "a/.env.test", "b/.env", "config/dev"],
    });
    linkSync(at(".env"), at("again.env.test"));
    expect((await find([".env.test", "*.env.test"])).files).not.toContain("again.env.test");
  });

  it("include those in a repository, and exclude folders that commands never see", async () => {
    for (const path of [".git/config", ".git/refs/heads/main", "hidden/.env", ".git/credentials", ".git/refs/heads/.env"]) put(path);
    expect(await find()).toEqual({ files: [".git/credentials", ".git/refs/heads/.env"], folders: [] });
  });

  it("stay secret under another name: after a folder above was renamed, or a link removed", async () => {
    put(".docker/config.json");
    put(".config/gcloud/tokens.db");
    put("config/credentials/production.key", "no private key");
    put("config/development");
    symlinkSync("config/development", at(".env"));
    expect(await find()).toEqual({
      files: [".docker/config.json", "config/credentials/production.key", "config/development"],
      folders: [".config/gcloud"],
    });
    renameSync(at(".docker"), at("docker"));
    renameSync(at(".config"), at("moved"));
    renameSync(at("config/credentials"), at("config/c"));
    rmSync(at(".env"));
    const files = ["config/c/production.key", "config/development", "docker/config.json", "moved/gcloud/tokens.db"];
    for (let again = 0; again < 3; again += 1) expect(await find()).toEqual({ files, folders: [] });
    renameSync(at("docker"), at("again"));
    put("again/new.json");
    linkSync(at("again/config.json"), at("again/alias"));
    expect((await find()).files).toEqual(expect.arrayContaining(["again/alias", "again/config.json"]));
    expect((await find(["again/config.json"])).files).toEqual(expect.not.arrayContaining(["again/config.json", "again/new.json"]));
    // What is gone is forgotten, so a new file with the same inode number is not mistaken for it.
    rmSync(at("again"), { recursive: true });
    await find();
    put("again/config.json");
    expect((await find()).files).toEqual(files.filter((path) => !path.startsWith("docker")));
  });

  it("become harmless under their own name when their content does, and when the user lets commands read them", async () => {
    put("x.pem", key);
    put(".env.test");
    expect((await find()).files).toEqual([".env.test", "x.pem"]);
    put("x.pem", certificate);
    expect((await find([".env.test"])).files).toEqual([]);
  });

  it("are found in the repository of a linked worktree too, with hard links across", async () => {
    const main = join(base, "main/.git");
    mkdirSync(main, { recursive: true });
    writeFileSync(join(main, "credentials"), "x");
    linkSync(join(main, "credentials"), at("plain.txt"));
    expect(await find([], [main])).toEqual({ files: ["../main/.git/credentials", "plain.txt"], folders: [] });
    index = open();
    expect(await find()).toEqual({ files: [], folders: [] });
  });

  it("with a name that is not UTF-8 hide their folder, or the nearest one with such a name", async () => {
    const bytes = (...parts: string[]) => Buffer.concat(parts.map((part) => (part === "?" ? Buffer.from([0xff]) : Buffer.from(part))));
    put("odd/plain.txt");
    writeFileSync(bytes(`${workspace}/odd/.env.`, "?"), "x");
    mkdirSync(at("a"));
    mkdirSync(bytes(`${workspace}/a/`, "?"));
    writeFileSync(bytes(`${workspace}/a/`, "?", "/.env"), "x");
    mkdirSync(bytes(`${workspace}/`, "?"));
    writeFileSync(bytes(`${workspace}/`, "?", "/plain"), "x");
    put("\ufffd/.env");
    mkdirSync(at("target"));
    writeFileSync(bytes(`${workspace}/target/`, "?"), "x");
    symlinkSync(bytes("target/", "?"), at(".env.local"));
    expect(await find()).toEqual({ files: ["\ufffd/.env"], folders: ["a", "odd", "target"] });
    writeFileSync(bytes(`${workspace}/.env.`, "?"), "x");
    await expect(find()).rejects.toMatchObject({ code: "unavailable" });
  });

  it("are judged by their content again when it changed, with the same size and modification time", async () => {
    index = open(longAfter);
    put("x.pem", certificate);
    const { atime, mtime } = statSync(at("x.pem"));
    expect((await find()).files).toEqual([]);
    tick();
    writeFileSync(at("x.pem"), key.padEnd(certificate.length, "\n"));
    utimesSync(at("x.pem"), atime, mtime);
    expect(statSync(at("x.pem"))).toMatchObject({ size: certificate.length, mtimeMs: mtime.getTime() });
    expect((await find()).files).toEqual(["x.pem"]);
  });

  it("are searched for in changed folders only; what changed just now is looked at once more, for clocks that are slow", async () => {
    const judged: string[] = [];
    let time = Date.now();
    index = createSecretIndex({
      workspace,
      governance: {
        isSecretFile: policy.isSecretFile,
        judgeName: (path) => (judged.push(path), policy.judgeName(path)),
        resolvePath: (path) => (judged.push(`content of ${relative(workspace, path)}`), policy.resolve(path)),
      },
      hidden: [],
      now: () => time,
    });
    const judgedBy = async () => {
      judged.length = 0;
      await find();
      return judged.toSorted();
    };
    put("a/plain");
    put("b/x.pem", certificate);
    await find();
    const everything = ["a/plain", "b/x.pem", "content of b/x.pem"];
    expect(await judgedBy()).toEqual(everything);
    time = longAfter();
    expect(await judgedBy()).toEqual(everything);
    expect(await judgedBy()).toEqual([]);
    tick();
    put("a/.env");
    put("b/x.pem", key);
    expect(await judgedBy()).toEqual(["a/.env", "a/plain", "content of a/.env", "content of b/x.pem"]);
    expect(await judgedBy()).toEqual([]);
  });

  it("are searched for once more after each call, never before it", async () => {
    put("a/plain");
    const first = find();
    put("a/.env");
    const second = find();
    await first;
    expect((await second).files).toEqual(["a/.env"]);
  });
});

/**
 * What the index must find, by one plain walk: every path with a secret name and content, what a link with such a name leads to, and each
 * other name of such a file, also of one that was secret in an earlier walk.
 */
function plainWalk(before: Map<string, Set<string>>, readable: (path: string) => boolean) {
  const all: { path: string; key: string }[] = [];
  const known = new Map<string, Set<string>>();
  const harmless: { path: string; key: string }[] = [];
  const keyOf = (path: string) => {
    const { ino, birthtimeNs } = statSync(path, { bigint: true });
    return `${ino}:${birthtimeNs}`;
  };
  const visit = (folder: string) => {
    for (const name of readdirSync(folder)) {
      const place = join(folder, name);
      const path = relative(workspace, place);
      const stats = lstatSync(place);
      if (stats.isDirectory()) visit(place);
      if (stats.isFile()) all.push({ path, key: keyOf(place) });
      if (stats.isDirectory() || !existsSync(place) || !statSync(place).isFile() || policy.judgeName(path) !== "secret") continue;
      const resolved = policy.resolve(place);
      const target = relative(workspace, realpathSync(place));
      const key = keyOf(place);
      if (!readable(path) && !readable(target) && (!resolved.ok || resolved.sensitive === "secret"))
        known.set(key, (known.get(key) ?? new Set()).add(target));
      else if (stats.isFile()) harmless.push({ path, key });
    }
  };
  visit(workspace);
  for (const [key, paths] of before) {
    const changed = harmless.some((one) => one.key === key && (readable(one.path) || paths.has(one.path)));
    if (!known.has(key) && !changed && all.some((one) => one.key === key)) known.set(key, paths);
  }
  return { secret: all.filter(({ path, key }) => known.has(key) && !readable(path)).map(({ path }) => path), known };
}

it("what is known from before never changes the result: random changes, one index over all of them", async () => {
  const folders = ["a", "a/b", ".ssh", "a/b/.git/refs"];
  const names = [".env", "x.txt", "x.pem", "y.pem", ".env.test", "new\nline"];
  const folder = fc.constantFrom("", ...folders);
  const path = fc.tuple(folder, fc.constantFrom(...names)).map(([one, name]) => join(one, name));
  const change = fc.oneof(
    fc.record({ kind: fc.constant("write" as const), path, text: fc.constantFrom("x", key, certificate) }),
    fc.record({ kind: fc.constant("remove" as const), path: fc.oneof(path, folder) }),
    fc.record({ kind: fc.constantFrom("rename" as const, "hardlink" as const), path: fc.oneof(path, folder), to: fc.oneof(path, folder) }),
    fc.record({ kind: fc.constant("symlink" as const), path, to: path }),
    fc.record({ kind: fc.constant("folder" as const), path: folder }),
  );
  const apply = (one: typeof change extends fc.Arbitrary<infer T> ? T : never) => {
    try {
      if (one.kind === "write") put(one.path, one.text);
      else if (one.kind === "folder") mkdirSync(at(one.path), { recursive: true });
      else if (one.kind === "remove" && one.path !== "") rmSync(at(one.path), { recursive: true });
      else if (one.kind === "rename" && lstatSync(at(one.path)).isDirectory() === folders.includes(one.to))
        renameSync(at(one.path), at(one.to));
      else if (one.kind === "hardlink") linkSync(at(one.path), at(one.to));
      else if (one.kind === "symlink") symlinkSync(relative(dirname(one.path), one.to), at(one.path));
    } catch {
      // It does not apply to this tree.
    }
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      fc.constantFrom([], [".env.test"], ["a/**"]),
      async (rounds, settled, readable) => {
        rmSync(workspace, { recursive: true, force: true });
        mkdirSync(workspace);
        index = open(settled ? longAfter : Date.now);
        let before = new Map<string, Set<string>>();
        const globs = readable.map((glob) => globFilter(glob));
        const isReadable = (one: string) => globs.some((matches) => matches(one));
        for (const round of rounds) {
          for (const one of round) apply(one);
          if (settled) tick();
          const found = await find(readable);
          const { secret, known } = plainWalk(before, isReadable);
          before = known;
          const below = (one: string) => found.folders.some((hidden) => one.startsWith(`${hidden}/`));
          expect(found.files).toEqual(secret.filter((one) => !below(one)).toSorted());
          // A folder is hidden only when everything in it is secret, and nothing in it readable.
          const mayHide = (one: string) => policy.judgeName(`${one}/-`) === "secret" && !isReadable(`${one}/-`);
          expect(found.folders.filter((one) => !mayHide(one))).toEqual([]);
        }
      },
    ),
    { numRuns: runs(150, 3_000) },
  );
});
