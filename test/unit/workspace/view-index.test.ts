// @module-tag processes
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { differingNames, parseIndex, parseListing } from "../../../agent-server/workspace/tasks/view-index.ts";
import { createGitFixture, type GitFixture } from "../../support/tools/git-fixture.ts";

let base = "";
let fixture: GitFixture;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-index-")));
  fixture = createGitFixture({ base, home: join(base, "home") });
  for (const name of ["b.txt", "dir/aa.txt", "dir/aab.txt", `${"deep/".repeat(40)}c.txt`, "ümläut.txt", "line\nbreak"])
    fixture.write(name, `${name}\n`);
  fixture.git("add", ".");
  fixture.git("update-index", "--chmod=+x", "b.txt");
});
afterEach(() => {
  fixture.close();
  rmSync(base, { recursive: true, force: true });
});

const bytes = () => readFileSync(fixture.path(".git/index"));
const listed = () => parseListing(fixture.git("ls-files", "--stage", "-z"));

describe("the index of a view", () => {
  it.each(["2", "3", "4"])("has the entries that git lists, in version %s", (version) => {
    if (version === "3") fixture.git("update-index", "--skip-worktree", "b.txt");
    else fixture.git("update-index", "--index-version", version);
    expect(bytes().readUInt32BE(4)).toBe(Number(version));
    const entries = parseIndex(bytes(), 20);
    expect(entries?.size).toBe(8);
    expect(entries).toEqual(listed());
    const tree = parseListing(fixture.git("ls-tree", "-r", "-z", "HEAD"));
    expect(differingNames(entries ?? new Map(), tree)).toHaveLength(6);
  });

  it("leaves out files that are only announced", () => {
    fixture.write("later.txt", "later\n");
    fixture.git("add", "-N", "later.txt");
    const entries = parseIndex(bytes(), 20);
    expect(entries?.has("later.txt")).toBe(false);
    expect(entries?.size).toBe(8);
  });

  it("is unknown when it is split, cut, of another version, or anything else", () => {
    const whole = bytes();
    for (const length of [0, 4, 12, 40, 100, 300]) expect(parseIndex(whole.subarray(0, length), 20)).toBeNull();
    expect(parseIndex(Buffer.concat([Buffer.from("DIRC\0\0\0\x05", "latin1"), whole.subarray(8)]), 20)).toBeNull();
    fixture.git("update-index", "--split-index");
    expect(parseIndex(bytes(), 20)).toBeNull();
  });

  it("is refused when its names grow from almost nothing", () => {
    const header = Buffer.from("DIRC\0\0\0\x04\0\x01\0\0", "latin1");
    const first = Buffer.concat([Buffer.alloc(62), Buffer.from([0]), Buffer.from("n".repeat(4_000)), Buffer.from([0])]);
    const next = Buffer.concat([Buffer.alloc(62), Buffer.from([0]), Buffer.from("\0")]);
    const entries = Array.from({ length: 65_535 }, () => next);
    expect(parseIndex(Buffer.concat([header, first, ...entries, Buffer.alloc(20)]), 20)).toBeNull();
  });

  it("is read to its end or refused, whatever bytes it has", () => {
    const whole = bytes();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (changes, four) => {
          const changed = Buffer.from(whole);
          for (const [at, value] of changes) changed[at] = value;
          if (four) changed.writeUInt32BE(4, 4);
          const entries = parseIndex(changed, 20);
          expect(entries === null || entries.size <= changed.length).toBe(true);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
