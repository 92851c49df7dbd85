import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createVersionFiles, type VersionFiles } from "../../../../agent-server/governance/soul/soul-version-files.ts";

let root: string;
let files: VersionFiles;
beforeEach(() => {
  root = join(realpathSync(mkdtempSync(join(tmpdir(), "lancelot-versions-"))), "soul");
  files = createVersionFiles(root);
});
afterEach(() => rmSync(join(root, ".."), { recursive: true, force: true }));

const at = (name: string) => join(root, name);
const put = (name: string, text: string | Uint8Array) => {
  mkdirSync(at("soul_versions"), { recursive: true });
  writeFileSync(at(name), text);
};
const version = (name: string) => `soul_versions/soul_${name}.yaml`;
const unwindowed = process.platform !== "win32";

const refused = (file: string) => ({ ok: false, problem: expect.stringContaining(file) as string });

describe("the pointer", () => {
  it("is written whole, for its owner alone, and leaves nothing beside it", () => {
    files.point("v3");
    expect(readFileSync(at("ACTIVE"), "utf8")).toBe("v3\n");
    files.point("v12");
    expect(files.readPointer()).toEqual({ ok: true, value: "v12" });
    expect(readdirSync(root)).toEqual(["ACTIVE"]);
    if (unwindowed) {
      expect(statSync(at("ACTIVE")).mode & 0o777).toBe(0o600);
      expect(statSync(root).mode & 0o777).toBe(0o700);
    }
  });

  it("that cannot be moved leaves nothing beside it", () => {
    mkdirSync(at("ACTIVE/in-the-way"), { recursive: true });
    expect(() => files.point("v3")).toThrow();
    expect(readdirSync(root)).toEqual(["ACTIVE"]);
  });

  it.each<[string, string | (() => void), unknown]>([
    ["with spaces around it", " v7 \n", { ok: true, value: "v7" }],
    ["that is missing", () => undefined, refused("soul/ACTIVE")],
    ["that names no version", "seven", refused("soul/ACTIVE")],
    ["of 100 bytes", `v7${" ".repeat(98)}`, { ok: true, value: "v7" }],
    ["of 101 bytes", `v7${" ".repeat(99)}`, refused("soul/ACTIVE")],
    ["that is a folder", () => mkdirSync(at("ACTIVE")), refused("soul/ACTIVE")],
    ["that is a link", () => symlinkSync("elsewhere", at("ACTIVE")), refused("soul/ACTIVE")],
    ["that is a pipe", () => execFileSync("mkfifo", [at("ACTIVE")]), refused("soul/ACTIVE")],
  ])("%s is read so", (_, text, expected) => {
    mkdirSync(root, { recursive: true });
    if (typeof text === "string") put("ACTIVE", text);
    else text();
    expect(files.readPointer()).toEqual(expected);
  });

  it("below a file is one that cannot be read", () => {
    writeFileSync(root, "a file");
    expect(files.readPointer()).toEqual(refused("soul/ACTIVE"));
    expect(files.pointerStat()).toBeUndefined();
    expect(files.list()).toEqual([]);
    files.removeOrphans();
  });
});

describe("a version", () => {
  it("is written once, for its owner alone", () => {
    expect(files.addVersion("v2", "one: ä\n")).toBe(true);
    expect(files.addVersion("v2", "two\n")).toBe(false);
    expect(files.readVersion("v2")).toEqual({ ok: true, value: "one: ä\n" });
    expect(readdirSync(at("soul_versions"))).toEqual(["soul_v2.yaml"]);
    if (unwindowed) {
      expect(statSync(at(version("v2"))).mode & 0o777).toBe(0o600);
      expect(statSync(at("soul_versions")).mode & 0o777).toBe(0o700);
    }
    files.removeVersion("v2");
    files.removeVersion("v2");
    expect(files.list()).toEqual([]);
  });

  it.each<[string, string | Uint8Array | (() => void), string | null]>([
    ["that is missing", () => undefined, "soul_v2.yaml"],
    ["of the longest a soul may be", "#".repeat(200_000), null],
    ["that is longer", "#".repeat(200_001), "soul_v2.yaml"],
    ["that is not UTF-8", Buffer.from([0x61, 0xff]), "soul_v2.yaml"],
    ["that is a folder", () => mkdirSync(at(version("v2")), { recursive: true }), "soul_v2.yaml"],
    ["that is a link", () => symlinkSync("soul_v1.yaml", at(version("v2"))), "soul_v2.yaml"],
  ])("%s is read so", (_, text, problem) => {
    mkdirSync(at("soul_versions"), { recursive: true });
    if (typeof text === "function") text();
    else put(version("v2"), text);
    const found = files.readVersion("v2");
    expect(found).toEqual(problem === null ? { ok: true, value: text } : refused(problem));
  });

  it("is listed by its number, whatever else lies there", () => {
    for (const name of ["v10", "v9", "v1", "v123456"]) put(version(name), "x");
    for (const name of ["v0", "v01", "v1234567", "w1", "v"]) put(version(name), "x");
    for (const name of ["xsoul_v2.yaml", "soul_v2.yaml.bak", "soul_v2.yml", "soul_v2xyaml"]) put(`soul_versions/${name}`, "x");
    expect(files.list()).toEqual(["v1", "v9", "v10", "v123456"]);
  });
});

describe("what a write left", () => {
  const name = (digit: string) => `.${digit.repeat(8)}-0000-4000-8000-000000000000.tmp`;
  const age = (path: string, ms: number) => {
    const then = new Date(Date.now() - ms);
    utimesSync(at(path), then, then);
  };

  it("is removed after a minute, in both folders, and nothing else is", () => {
    const inside = (file: string) => `soul_versions/${file}`;
    const all = [name("a"), inside(name("b")), name("c"), "x.tmp", `x${name("d")}`, `${name("e")}x`, inside(".zz.tmp")];
    for (const file of all) put(file, "x");
    for (const file of all) age(file, file === name("c") ? 50_000 : 70_000);
    files.removeOrphans();
    expect(all.filter((file) => existsSync(at(file)))).toEqual(all.slice(2));
  });
});
