import { CoreBlockName, MemoryKind, MemoryTarget, Namespace } from "../../contract/memory.ts";
import { compare } from "../core-block-text.ts";
import { targetOf } from "../item-rows.ts";
import type { StoredItem } from "../item-types.ts";
import { iso, ItemLine, type ParsedLine } from "./export-lines.ts";

/**
 * Memory as Markdown: a heading per core block and tier, archival memory grouped by first tag, a list of entries, each
 * followed by a line with its metadata.
 */
export function* markdownPieces(items: readonly StoredItem[], of: { now: number; workspace: string | null }): Generator<string> {
  const from = of.workspace === null ? "" : ` from ${of.workspace.replaceAll(/\s+/gu, " ")}`;
  yield `# Memory\n\nExported ${iso(of.now)}${from}: ${String(items.length)} ${items.length === 1 ? "item" : "items"}.\n`;
  const targets: readonly MemoryTarget[] = [
    ...CoreBlockName.options.map((block) => MemoryTarget.parse(`core:${block}`)),
    "working",
    "episodic",
    "archival",
  ];
  for (const target of targets) {
    const some = items.filter((item) => targetOf(item) === target);
    if (some.length === 0) continue;
    yield `\n## ${titleOf(target)}\n`;
    if (target !== "archival") {
      yield* some.map(entryText);
      continue;
    }
    const groups = Map.groupBy(some, ({ tags }) => tags[0] ?? "");
    for (const [tag, ofTag] of [...groups].toSorted(([a], [b]) => Number(a === "") - Number(b === "") || compare(a, b))) {
      yield `\n### ${tag === "" ? "Without a tag" : tag}\n`;
      yield* ofTag.map(entryText);
    }
  }
}

const core = "Core: ";

function titleOf(target: MemoryTarget): string {
  return target.startsWith("core:") ? `${core}${target.slice("core:".length)}` : `${target[0]?.toUpperCase() ?? ""}${target.slice(1)}`;
}

function targetOfTitle(title: string): MemoryTarget | null {
  const name = title.trim().toLowerCase();
  const target = name.startsWith(core.trim().toLowerCase()) ? `core:${name.slice(core.trim().length).trim()}` : name;
  return MemoryTarget.safeParse(target).data ?? null;
}

/** The lines of an entry after the first are indented by two spaces. */
function entryText(item: StoredItem): string {
  const lines = item.content.trim().split(/\r\n|\r|\n/u);
  const known = [
    item.kind,
    item.namespace,
    `confidence ${String(item.confidence)}`,
    `by ${item.provenance.source}`,
    iso(item.createdAt),
    ...(item.expiresAt === null ? [] : [`until ${iso(item.expiresAt)}`]),
    ...(item.tags.length === 0 ? [] : [`tags ${item.tags.join(", ")}`]),
    item.id,
  ];
  return `\n- ${lines.map((line, index) => (index === 0 || line.trim() === "" ? line.trimEnd() : `  ${line.trimEnd()}`)).join("\n")}\n  *${known.join(" · ")}*\n`;
}

const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
const knownLine = new RegExp(
  String.raw`^\*(?<kind>[a-z]+) · (?<namespace>\S+) · confidence (?<confidence>[\d.e-]+) · by (?<source>[a-z]+) · (?<created>${time})(?: · until (?<until>${time}))?(?: · tags (?<tags>[^·]+))? · (?<id>[\w.:-]+)\*$`,
  "u",
);

/**
 * Parses a file that `markdownPieces` wrote, or a handwritten one: lists below headings of blocks and tiers.
 * Lists below other headings are archival. Text outside lists is reported as unreadable.
 */
export function parseMarkdown(text: string): ParsedLine[] {
  const parsed: ParsedLine[] = [];
  let target: MemoryTarget = "archival";
  let hasSection = false;
  let entry: { line: number; lines: string[] } | null = null;
  const close = (): void => {
    if (entry !== null) parsed.push(lineOfEntry(entry, target));
    entry = null;
  };
  text.split(/\r\n|\r|\n/u).forEach((line, index) => {
    const heading = /^(#{1,6}) (.*)$/u.exec(line);
    const bullet = /^[-*+] (.*)$/u.exec(line);
    if (heading !== null) {
      close();
      const level = heading[1]?.length ?? 1;
      const named = targetOfTitle((heading[2] ?? "").trimStart());
      if (named !== null) target = named;
      else if (level < 3) target = "archival";
      if (level > 1) hasSection = true;
    } else if (bullet !== null) {
      close();
      entry = { line: index + 1, lines: [bullet[1] ?? ""] };
    } else if (entry !== null && (line.trim() === "" || /^(?: {2}|\t)/u.test(line))) {
      entry.lines.push(line.replace(/^(?: {2}|\t)/u, ""));
    } else if (line.trim() !== "") {
      close();
      // Text before the first section describes the file.
      if (hasSection)
        parsed.push({ line: index + 1, reason: "It is not an entry: entries begin with “- ”, and their other lines with two spaces." });
    }
  });
  close();
  return parsed;
}

function lineOfEntry({ line, lines }: { line: number; lines: readonly string[] }, target: MemoryTarget): ParsedLine {
  const written = lines.join("\n").trimEnd().split("\n");
  const known = knownLine.exec(written.at(-1) ?? "")?.groups;
  const content = (known === undefined ? written : written.slice(0, -1)).join("\n").trim();
  const item = ItemLine.safeParse(
    known === undefined
      ? { target, content }
      : {
          target,
          content,
          id: known["id"],
          kind: MemoryKind.safeParse(known["kind"]).data,
          namespace: Namespace.safeParse(known["namespace"]).data,
          confidence: Number(known["confidence"]),
          tags: known["tags"]?.split(", ") ?? [],
          provenance: { source: known["source"] },
          createdAt: known["created"],
          updatedAt: known["created"],
          expiresAt: known["until"] ?? null,
        },
  );
  return item.success ? { line, item: item.data } : { line, reason: "The entry cannot be read." };
}
