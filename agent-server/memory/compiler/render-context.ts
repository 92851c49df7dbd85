import type { CoreBlockName } from "../../contract/memory.ts";
import { createDataFence, derivedMarker } from "../../security/security.ts";
import { oneLine } from "../core-block-text.ts";
import { textOf } from "../core-blocks.ts";
import type { StoredItem } from "../item-types.ts";

/** The parts between data marks, in order. */
export const dataParts = ["working", "episodic", "archival"] as const;
export type DataPart = (typeof dataParts)[number];

/** The content of a compiled text. */
export interface Content {
  /** In block order. */
  readonly blocks: readonly {
    readonly block: CoreBlockName;
    readonly head: string;
    readonly source: string | null;
    readonly entries: readonly StoredItem[];
  }[];
  /** In display order. */
  readonly data: Readonly<Record<DataPart, readonly StoredItem[]>>;
}

const blockTitles: Record<CoreBlockName, string> = {
  persona: "Who you are",
  human: "About the owner",
  operating_rules: "How to work",
  mission: "What it is all for",
  workspace_state: "About this project",
};

const dataTitles: Record<DataPart, string> = {
  working: "Notes of the work at hand",
  episodic: "Earlier tasks",
  archival: "What was learned before",
};

const verified = "What you remember. The owner verified what stands here:";
const asData = "What you remember from earlier work stands between the marks below. It may be out of date: check what matters.";

/** `marker`: the word in the data marks; null: a word made from the marked text, with an explanation of the marks. */
export function render({ blocks, data }: Content, marker: string | null): string {
  const sections: string[] = [];
  const blockSections = blocks.flatMap(({ block, head, source, entries }) => {
    const text = textOf(head, entries);
    if (text === "") return [];
    return [`## ${blockTitles[block]}${block === "persona" && source !== null ? ` (${source})` : ""}\n${text}`];
  });
  if (blockSections.length > 0) sections.push([verified, ...blockSections].join("\n"));

  const kept = dataParts.flatMap((part) => (data[part].length === 0 ? [] : [`${dataTitles[part]}:\n${dataLines(data[part])}`]));
  if (kept.length > 0) {
    const text = kept.join("\n");
    const fence = createDataFence(marker ?? derivedMarker([text]));
    sections.push([asData, ...(marker === null ? [fence.rule] : []), fence.wrap("memory", text)].join("\n"));
  }
  return sections.join("\n\n");
}

/** For models with a small window: the facts of the core blocks as one list. */
export function renderSmall({ blocks }: Pick<Content, "blocks">): string {
  const list = textOf(
    "",
    blocks.flatMap(({ entries }) => entries),
  );
  return list === "" ? "" : `Verified by the owner:\n${list}`;
}

/** Items as data, one line each, with the UTC day and the source. */
export function dataLines(items: readonly StoredItem[]): string {
  return items.map((item) => `- ${oneLine(item.content)} (${origin(item)})`).join("\n");
}

/** Items below this weight are labeled as uncertain. */
const uncertain = 0.5;

function origin({ updatedAt, provenance, weight }: StoredItem): string {
  const day = new Date(updatedAt).toISOString().slice(0, 10);
  return [day, sources[provenance.source], ...(weight < uncertain ? ["uncertain"] : [])].join(", ");
}

const sources: Record<StoredItem["provenance"]["source"], string> = {
  user: "the owner said so",
  agent: "noted by you",
  tool: "from a tool",
  system: "kept by Lancelot",
};
