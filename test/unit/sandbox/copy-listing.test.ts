import { describe, expect, it } from "vitest";
import { compareListings, ListingError, parseListing } from "../../../agent-server/sandbox/copy/copy-listing.ts";

interface Listed {
  readonly name: string;
  readonly mode?: string;
  readonly size?: number;
  readonly inode?: number;
  /** Seconds with a fraction. */
  readonly changed?: string;
}

/** What the helper prints for these entries. */
function printed(entries: readonly Listed[], more: { readonly end?: string; readonly records?: readonly Listed[] } = {}): Buffer {
  const records = (more.records ?? entries).map(({ name, mode = "81a4", size = 1, inode = 7, changed = "1000.000000005" }) => {
    const [seconds, fraction] = changed.split(".");
    const time = `2026-01-01 00:00:00${fraction === undefined ? "" : `.${fraction}`} +0000`;
    return `${mode} ${size} ${inode} ${seconds} ${time} ${name}\n`;
  });
  return Buffer.from(`${entries.map(({ name }) => `${name}\0`).join("")}\0${records.join("")}${more.end ?? "end"}`, "latin1");
}
const root = { name: ".", mode: "41ed", changed: "50.0" };
const parse = (entries: readonly Listed[], more?: Parameters<typeof printed>[1]) => parseListing(printed([root, ...entries], more), 100);

describe("listings of copies", () => {
  it("name entries of every kind, with names of any bytes", () => {
    // With the name of a folder, the record of a file in it has another one after a line end.
    const fake = "81a4 1 7 1000 2026-01-01 00:00:00.000000005 +0000 .";
    const found = parse([
      { name: "./a", size: 12 },
      { name: `./b\n${fake}`, mode: "41ed" },
      { name: `./b\n${fake}/fake\n`, mode: "81ed" },
      { name: "./\xff\xfe", mode: "a1ff" },
      { name: "./folder", mode: "41c0" },
      { name: "./folder/pipe", mode: "11a4" },
    ]);
    expect([...found].map(([path, { kind, mode }]) => [path, kind, mode])).toEqual([
      ["", "folder", 0o755],
      ["a", "file", 0o644],
      [`b\n${fake}`, "folder", 0o755],
      [`b\n${fake}/fake\n`, "file", 0o755],
      ["\0ff\0fe", "link", 0o777],
      ["folder", "folder", 0o700],
      ["folder/pipe", "other", 0o644],
    ]);
    expect(found.get("a")).toMatchObject({ size: 12, changed: 1_000_000_000_005n });
  });

  it("leave out what lies too deep", () => {
    const deep = `./${Array.from({ length: 400 }, () => "0123456789").join("/")}`;
    expect([...parse([{ name: deep }], { records: [root] }).keys()]).toEqual([""]);
    const names = Array.from({ length: 31 }, (_, depth) => `./${Array.from({ length: depth + 1 }, () => "x".repeat(100)).join("/")}`);
    const kinds = [...parse(names.map((name) => ({ name, mode: "41ed" }))).values()].map(({ kind }) => kind);
    expect(kinds).toEqual([...Array.from({ length: 30 }, () => "folder"), "other"]);
  });

  it.each<[string, () => unknown]>([
    ["that is cut off", () => parse([{ name: "./a" }], { end: "" })],
    ["with attributes of another entry", () => parse([{ name: "./a" }], { records: [root, { name: "./b" }] })],
    ["with an entry without attributes", () => parse([{ name: "./a" }], { records: [root] })],
    ["with attributes of more entries", () => parse([], { records: [root, { name: "./a" }] })],
    ["with a path that leads out", () => parse([{ name: "./../a" }])],
    ["with an absolute path", () => parse([{ name: "/etc/passwd" }])],
    ["with an empty name", () => parse([{ name: "./a//b" }])],
    ["with an entry in a file", () => parse([{ name: "./a" }, { name: "./a/b" }])],
    ["with an entry in a link", () => parse([{ name: "./a", mode: "a1ff" }, { name: "./a/b" }])],
    ["without a root", () => parseListing(printed([{ name: "./a" }]), 100)],
    ["of too many entries", () => parseListing(printed([root, { name: "./a" }]), 1)],
  ])("%s are refused", (_name, read) => {
    expect(read).toThrow(ListingError);
  });

  it("are compared by everything that a change leaves, and by a change too late to show", () => {
    const before = parse([
      { name: "./newest", changed: "200.01" },
      { name: "./same", changed: "100.0" },
      { name: "./size", changed: "100.0" },
      { name: "./time", changed: "100.0" },
      { name: "./late", changed: "200.0" },
      { name: "./gone", changed: "100.0" },
      { name: "./turned", mode: "41ed", changed: "100.0" },
      { name: "./turned/inner", changed: "100.0" },
    ]);
    const after = parse([
      { name: "./newest", changed: "200.01" },
      { name: "./same", changed: "100.0" },
      { name: "./size", size: 2, changed: "100.0" },
      { name: "./time", changed: "100.5" },
      { name: "./late", changed: "200.0" },
      { name: "./turned", changed: "100.0" },
      { name: "./new" },
    ]);
    const { removed, touched } = compareListings(before, after);
    expect(removed.toSorted()).toEqual(["gone", "turned", "turned/inner"]);
    expect(touched.filter((path) => path !== "").toSorted()).toEqual(["late", "new", "newest", "size", "time", "turned"]);
  });

  it("of a clock with full seconds compare everything of the last second", () => {
    const entries = [
      { name: "./a", changed: "100" },
      { name: "./b", changed: "98" },
    ];
    const listing = parseListing(printed([{ ...root, changed: "100" }, ...entries]), 100);
    expect(compareListings(listing, listing).touched).toEqual(["", "a"]);
  });
});
