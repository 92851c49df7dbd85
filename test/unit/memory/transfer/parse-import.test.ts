import * as fc from "fast-check";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LancelotError } from "../../../../agent-server/contract/errors.ts";
import { MemoryKind, type MemoryTarget, MemoryTarget as Target } from "../../../../agent-server/contract/memory.ts";
import { markdownPieces, parseMarkdown } from "../../../../agent-server/memory/transfer/memory-markdown.ts";
import type { ParsedLine } from "../../../../agent-server/memory/transfer/export-lines.ts";
import { parseImport } from "../../../../agent-server/memory/transfer/parse-import.ts";
import { readImportFile } from "../../../../agent-server/memory/transfer/read-import-file.ts";
import type { StoredItem } from "../../../../agent-server/memory/item-types.ts";

const items = (lines: readonly ParsedLine[]) => lines.flatMap((line) => ("item" in line ? [line.item] : []));
const reasons = (lines: readonly ParsedLine[]) => lines.flatMap((line) => ("reason" in line ? [[line.line, line.reason]] : []));
const code = (work: () => unknown): string => {
  try {
    work();
    return "none";
  } catch (error) {
    return error instanceof LancelotError ? `${error.code}: ${error.message}` : String(error);
  }
};

const header = '{"lancelot":"memory","version":1,"format":"jsonl","exportedAt":"2026-11-20T12:00:00.000Z","workspace":"shop"}';
const end = '{"end":{"items":1}}';
const line = '{"target":"archival","content":"The port is 8443."}';

describe("lines of JSON", () => {
  it("of an export are read with what they hold, and by hand with what is enough", () => {
    const parsed = parseImport(
      `${header}\n${line}\n\n{"target":"core:mission","content":"Ship.","tags":["a b"],"confidence":1}\r\n${end}\n`,
    );
    expect(items(parsed)).toMatchObject([
      { target: "archival", content: "The port is 8443.", confidence: 0.7, tags: [], provenance: { source: "agent" }, reinforced: 0 },
      { target: "core:mission", tags: ["a b"], confidence: 1 },
    ]);
    expect(items(parseImport(line))).toHaveLength(1);
  });

  it.each<[string, string]>([
    ["no JSON", "{nonsense"],
    ["a list", "[1]"],
    ["no target", '{"content":"x"}'],
    ["another target", '{"target":"core:soul","content":"x"}'],
    ["no text", '{"target":"archival","content":""}'],
    ["too certain", '{"target":"archival","content":"x","confidence":1.5}'],
    ["no time", '{"target":"archival","content":"x","createdAt":"yesterday"}'],
    ["an edit that waited, cut", '{"quarantine":{"status":"pending"}}'],
  ])("that cannot be read are told by their number: %s", (_name, bad) => {
    expect(reasons(parseImport(`${header}\n${line}\n${bad}\n${end}`))).toEqual([[3, expect.stringMatching(/^It is |edit/u)]]);
  });

  it("of a backup that are history are no items", () => {
    const parsed = parseImport(`${header}\n${line}\n{"commit":{"id":"c"}}\n{"image":{"itemId":"i"}}\n${end}`);
    expect(parsed).toHaveLength(1);
  });

  it.each<[string, string, RegExp]>([
    ["nothing", "", /^invalid_params: The file is empty/u],
    ["blank lines", " \n\n", /^invalid_params: The file is empty/u],
    ["a file that is cut off", `${header}\n${line}\n`, /truncated/u],
    ["a newer version", header.replace('"version":1', '"version":2'), /newer version/u],
    ["an export without items", `${header}\n{"end":{"items":0}}`, /nothing to import/u],
    ["another file of JSON", '{"name":"x"}', /nothing to import/u],
    ["a text", "Dear diary,\ntoday nothing happened.", /nothing to import/u],
    ["too many lines", `${line}\n`.repeat(100_001), /^too_large/u],
  ])("are refused as a whole: %s", (_name, text, expectedText) => expect(code(() => parseImport(text))).toMatch(expectedText));
});

describe("the graph of the reference memory server", () => {
  it("is facts: each observation, entities without one, relations", () => {
    const parsed = parseImport(
      [
        '{"type":"entity","name":"Ada","entityType":"person","observations":["prefers tabs"," works in Berlin ",""]}',
        '{"type":"entity","name":"shop","entityType":"project","observations":[]}',
        '{"type":"relation","from":"Ada","to":"shop","relationType":"works_on"}',
        '{"type":"relation","from":"Ada"}',
      ].join("\n"),
    );
    expect(items(parsed)).toMatchObject([
      {
        content: "Ada: prefers tabs",
        tags: ["Ada", "person"],
        kind: "fact",
        target: "archival",
        provenance: { source: "agent", ref: "memory.jsonl" },
      },
      { content: "Ada: works in Berlin" },
      { content: "shop: project" },
      { content: "Ada works on shop", tags: [] },
    ]);
    expect(reasons(parsed)).toEqual([[4, expect.stringContaining("not a memory item")]]);
  });
});

const anItem = (of: Partial<StoredItem>): StoredItem => ({
  ...{
    seq: 1,
    id: "mem_1",
    tier: "archival",
    block: null,
    namespace: "workspace",
    workspace: "/projects/a",
    kind: "fact",
    content: "x",
    ref: null,
  },
  ...{
    confidence: 0.8,
    tags: [],
    provenance: { source: "agent" },
    questId: null,
    commitId: "c",
    version: 1,
    createdAt: 1e12,
    updatedAt: 1e12,
  },
  ...{ expiresAt: null, weight: 0.8, reinforcedAt: 1e12, reinforced: 0, ...of },
});
const markdown = (some: readonly StoredItem[]): string => [...markdownPieces(some, { now: 1e12, workspace: "shop" })].join("");

describe("Markdown", () => {
  it("is read by people: blocks as headings, archival memory by its first tag, dates in ISO", () => {
    expect(
      markdown([
        anItem({
          tier: "core",
          block: "human",
          namespace: "global",
          kind: "preference",
          content: "I prefer tabs.",
          provenance: { source: "user" },
        }),
        anItem({ id: "mem_2", content: "The port is 8443.\nNot 443.", tags: ["network", "ports"] }),
        anItem({ id: "mem_3", content: "Ada wrote it." }),
      ]),
    ).toBe(`# Memory

Exported 2001-09-09T01:46:40.000Z from shop: 3 items.

## Core: human

- I prefer tabs.
  *preference · global · confidence 0.8 · by user · 2001-09-09T01:46:40.000Z · mem_1*

## Archival

### network

- The port is 8443.
  Not 443.
  *fact · workspace · confidence 0.8 · by agent · 2001-09-09T01:46:40.000Z · tags network, ports · mem_2*

### Without a tag

- Ada wrote it.
  *fact · workspace · confidence 0.8 · by agent · 2001-09-09T01:46:40.000Z · mem_3*
`);
  });

  it("written by hand is lists below headings", () => {
    const parsed = parseMarkdown(
      "# Mine\n\nNotes of mine.\n\n## Core: operating_rules\n- Use tabs.\n* Be brief.\n\n## Ideas\n+ Try pnpm,\n  soon.\nloose words\n",
    );
    expect(items(parsed)).toMatchObject([
      { target: "core:operating_rules", content: "Use tabs.", provenance: { source: "agent" } },
      { target: "core:operating_rules", content: "Be brief." },
      { target: "archival", content: "Try pnpm,\nsoon." },
    ]);
    expect(reasons(parsed)).toEqual([[12, expect.stringContaining("not an entry")]]);
  });

  const targets = Target.options.filter((target) => target !== "core:persona");
  const anyText = fc
    .array(
      fc.oneof(fc.string({ unit: "grapheme", maxLength: 60 }), fc.constantFrom("- a", "# b", "*c*", "```", "  d", "## Archival", "")),
      {
        minLength: 1,
        maxLength: 5,
      },
    )
    .map((lines) => lines.join("\n"));
  const anyItem = fc.record({
    target: fc.constantFrom(...targets),
    content: anyText,
    kind: fc.constantFrom(...MemoryKind.options.filter((kind) => kind !== "message")),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    tags: fc.uniqueArray(fc.stringMatching(/^[a-z0-9][a-z0-9 ._:/+#-]{0,20}[a-z0-9]$/u), { maxLength: 3 }),
    namespace: fc.constantFrom("global", "workspace", "quest:a.b:c-1"),
  });
  const idOf = (index: number): string => `mem_00000000-0000-4000-8000-00000000000${String(index)}`;
  /** Spaces at the ends of lines, and of the text, say nothing. */
  const tidy = (text: string): string =>
    text
      .split(/\r\n|\r|\n/u)
      .map((one) => one.trimEnd())
      .join("\n")
      .trim();

  it("is read back as it was written, whatever the texts hold", () => {
    fc.assert(
      fc.property(fc.array(anyItem, { minLength: 1, maxLength: 6 }), (some) => {
        const wanted = some.filter(({ content }) => tidy(content) !== "");
        const stored = wanted.map(({ target, ...rest }, index) => {
          const [tier, block = null] = target.split(":") as [StoredItem["tier"], StoredItem["block"]?];
          return anItem({ ...rest, tier, block, id: idOf(index) });
        });
        const parsed = parseMarkdown(markdown(stored));
        expect(reasons(parsed)).toEqual([]);
        const back = new Map(items(parsed).map((item) => [item.id, item]));
        expect(back.size).toBe(stored.length);
        for (const [index, { target, content, kind, confidence, tags, namespace }] of wanted.entries())
          expect(back.get(idOf(index))).toMatchObject({
            target: target satisfies MemoryTarget,
            content: tidy(content),
            kind,
            confidence,
            tags,
            namespace,
          });
      }),
    );
  });

  it("never fails on any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        expect(() => parseMarkdown(text)).not.toThrow();
        expect(code(() => parseImport(text))).toMatch(/^none|^invalid_params/u);
      }),
    );
  });
});

describe("the file of an import", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "lancelot-import-"));
    mkdirSync(join(folder, "exports/deeper"), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const read = (path: string): Promise<string> =>
    readImportFile(path, folder).catch((error: unknown) => (error instanceof LancelotError ? error.code : String(error)));

  it("is named by its place, or by its name in the folder exports", async () => {
    writeFileSync(join(folder, "exports/a.jsonl"), "\uFEFFgrün");
    writeFileSync(join(folder, "exports/deeper/b.md"), "b");
    expect(await read("a.jsonl")).toBe("grün");
    expect(await read("deeper/b.md")).toBe("b");
    expect(await read(join(folder, "exports/a.jsonl"))).toBe("grün");
  });

  it.each<[string, (folder: string) => string, string]>([
    ["nowhere", () => "none.jsonl", "not_found"],
    ["below a file", (at) => (writeFileSync(join(at, "exports/f"), ""), "f/g"), "not_found"],
    ["outside the folder", () => "../lancelot.sqlite", "invalid_params"],
    ["the folder itself", () => ".", "invalid_params"],
    ["a folder", (at) => join(at, "exports"), "invalid_params"],
    ["no path a file can have", () => "a\0b", "invalid_params"],
    ["no UTF-8", (at) => (writeFileSync(join(at, "exports/x"), Buffer.from([0xff, 0xfe, 0])), "x"), "invalid_params"],
    ["too large", (at) => (writeFileSync(join(at, "exports/y"), ""), truncateSync(join(at, "exports/y"), 50_000_001), "y"), "too_large"],
    ["a link to itself", (at) => (symlinkSync("z", join(at, "exports/z")), "z"), "unavailable"],
  ])("is refused with a message: %s", async (_name, make, expected) => expect(await read(make(folder))).toBe(expected));

  it("is not waited for when it is a device", async () =>
    expect(await read("/dev/zero")).toBe(process.platform === "win32" ? "not_found" : "invalid_params"));
});
