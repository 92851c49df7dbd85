import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { createConfigFile, createLayeredConfig } from "../../../agent-server/storage/storage.ts";

const Schema = z.strictObject({ size: z.int().default(1), name: z.string().default("none") });
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "lancelot-config-file-"));
  mkdirSync(join(root, "shipped"));
  mkdirSync(join(root, "data/config"), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const own = (text: string) => writeFileSync(join(root, "data/config/x.yaml"), text);
const ship = (text: string) => writeFileSync(join(root, "shipped/x.yaml"), text);

describe("createConfigFile", () => {
  const open = () => createConfigFile({ dataDir: join(root, "data"), name: "x.yaml", schema: Schema, fallback: { size: 7 } });

  it("returns the fallback while there is no file, or an empty one", () => {
    const file = open();
    expect(file.read()).toEqual({ value: { size: 7, name: "none" }, problem: null });
    own("# nothing\n");
    expect(file.read()).toEqual({ value: { size: 7, name: "none" }, problem: null });
  });

  it("reads the file again when it changes, and returns the same object until then", () => {
    own("size: 2\n");
    const file = open();
    const first = file.read();
    expect(first.value?.size).toBe(2);
    expect(file.read()).toBe(first);
    own("size: 3333\n");
    expect(file.read().value?.size).toBe(3333);
    // An edit of the same length shows in the time alone.
    own("size: 4444\n");
    utimesSync(join(root, "data/config/x.yaml"), 1, 1);
    expect(file.read().value?.size).toBe(4444);
  });

  it.each([
    ["an unknown key", "sizes: 2\n"],
    ["invalid YAML", "size: [\n"],
    ["an alias", "name: &a b\nsize: *a\n"],
  ])("returns no value and names the file, without its folder, for %s", (_, text) => {
    own(text);
    const { value, problem } = open().read();
    expect(value).toBeNull();
    expect(problem).toContain("config/x.yaml");
    expect(problem).not.toContain(root);
  });
});

describe("createLayeredConfig", () => {
  const problems: string[] = [];
  beforeEach(() => void problems.splice(0));
  const open = (check?: (settings: z.output<typeof Schema>) => void) =>
    createLayeredConfig({
      configDir: join(root, "shipped"),
      dataDir: join(root, "data"),
      name: "x.yaml",
      schema: Schema,
      onProblem: (message) => void problems.push(message),
      ...(check === undefined ? {} : { check }),
    });

  it("overrides the shipped file key by key, and follows changes of both", () => {
    ship("size: 2\nname: shipped\n");
    const file = open();
    expect(file.read().value).toEqual({ size: 2, name: "shipped" });
    own("size: 33\n");
    expect(file.read().value).toEqual({ size: 33, name: "shipped" });
    ship("size: 2\nname: other-name\n");
    expect(file.read().value).toEqual({ size: 33, name: "other-name" });
  });

  it.each([
    ["a value of the wrong type", "size: big\n", undefined],
    [
      "inconsistent settings",
      "size: 9\n",
      ({ size }: { size: number }) => {
        if (size > 5) throw new Error("size is too large");
      },
    ],
  ])("ignores a file with %s as a whole, and reports it once for each change", (_, text, check) => {
    ship("size: 2\n");
    own(`name: mine\n${text}`);
    const file = open(check);
    expect(file.read().value).toEqual({ size: 2, name: "none" });
    expect(file.read().problem).toContain("config/x.yaml");
    expect(problems).toHaveLength(1);
    own("name: mine\n");
    expect(file.read()).toEqual({ value: { size: 2, name: "mine" }, problem: null });
    expect(problems).toHaveLength(1);
  });
});

describe("a layered file that breaks", () => {
  const open = () => createLayeredConfig({ configDir: join(root, "shipped"), dataDir: join(root, "data"), name: "x.yaml", schema: Schema });

  it.each([
    ["no YAML", () => own("size: [\n")],
    ["a wrong value", () => own("size: big\n")],
    ["a folder", () => (rmSync(join(root, "data/config/x.yaml")), mkdirSync(join(root, "data/config/x.yaml")))],
    ["UTF-16", () => writeFileSync(join(root, "data/config/x.yaml"), Buffer.from("size: 9\n", "utf16le"))],
  ])("by %s keeps its last valid settings, in this host and the next, until it is mended", (_, damage) => {
    ship("size: 2\n");
    own("size: 40\nname: mine\n");
    const file = open();
    expect(file.read()).toEqual({ value: { size: 40, name: "mine" }, problem: null });
    damage();
    for (const reader of [file, open()]) {
      expect(reader.read()).toEqual({ value: { size: 40, name: "mine" }, problem: expect.stringContaining("config/x.yaml") as string });
    }
    rmSync(join(root, "data/config/x.yaml"), { recursive: true });
    own("size: 50\n");
    for (const reader of [file, open()]) expect(reader.read()).toEqual({ value: { size: 50, name: "none" }, problem: null });
  });

  it("has its shipped settings when it is deleted, and no older ones come back", () => {
    ship("size: 2\n");
    own("size: 40\n");
    const file = open();
    expect(file.read().value.size).toBe(40);
    rmSync(join(root, "data/config/x.yaml"));
    expect(file.read()).toEqual({ value: { size: 2, name: "none" }, problem: null });
    own("size: [\n");
    expect(open().read()).toEqual({ value: { size: 2, name: "none" }, problem: expect.any(String) as string });
  });
});
