import { diffArrays } from "diff";
import type {
  CoreBlockName,
  MemoryCommit,
  MemoryDiff,
  MemoryItem,
  MemoryJobName,
  MemoryKind,
  MemoryTarget,
  MemoryTier,
  QuarantineEntry,
} from "../../../agent-server/contract/memory.ts";
import { formatNumber, t } from "../../shared/l10n.ts";
import type { Part } from "../charts.tsx";
import type { Section } from "./state.ts";

export function sectionText(section: Section): string {
  switch (section) {
    case "core":
      return t("Core blocks");
    case "search":
      return t("Search");
    case "commits":
      return t("Commits");
    case "quarantine":
      return t("Quarantine");
    case "contexts":
      return t("Contexts");
    case "upkeep":
      return t("Upkeep");
  }
}

export function blockText(block: CoreBlockName): string {
  switch (block) {
    case "persona":
      return t("Persona");
    case "human":
      return t("About you");
    case "operating_rules":
      return t("Rules of work");
    case "mission":
      return t("Mission");
    case "workspace_state":
      return t("This workspace");
  }
}

/** What belongs into a block, in a sentence. */
export function blockMeaning(block: CoreBlockName): string {
  switch (block) {
    case "persona":
      return t("Who Lancelot is. It comes from the soul and is changed there.");
    case "human":
      return t("What Lancelot knows of you: from USER.md and from what you said.");
    case "operating_rules":
      return t("How you want work to be done.");
    case "mission":
      return t("What is being worked towards.");
    case "workspace_state":
      return t("Facts of this workspace that every task should know.");
  }
}

export function tierText(tier: MemoryTier): string {
  switch (tier) {
    case "core":
      return t("Core");
    case "working":
      return t("Working");
    case "episodic":
      return t("Episodes");
    case "archival":
      return t("Archive");
  }
}

export function kindText(kind: MemoryKind): string {
  switch (kind) {
    case "fact":
      return t("fact");
    case "preference":
      return t("preference");
    case "rule":
      return t("rule");
    case "decision":
      return t("decision");
    case "note":
      return t("note");
    case "message":
      return t("message");
    case "event":
      return t("event");
    case "summary":
      return t("summary");
    case "experience":
      return t("experience");
  }
}

/** Where an item is: `About you`, `Archive`. */
export function placeText({ tier, block }: Pick<MemoryItem, "tier" | "block">): string {
  return block === null ? tierText(tier) : blockText(block);
}

const coreTarget = "core:";

export function targetText(target: MemoryTarget): string {
  return target.startsWith(coreTarget) ? blockText(target.slice(coreTarget.length) as CoreBlockName) : tierText(target as MemoryTier);
}

export function namespaceText(namespace: string): string {
  if (namespace === "global") return t("everywhere");
  return namespace === "workspace" ? t("this workspace") : t("one task");
}

export function opText(op: MemoryDiff["op"]): string {
  switch (op) {
    case "insert":
      return t("Added");
    case "replace":
    case "rethink":
      return t("Changed");
    case "delete":
      return t("Deleted");
    case "restore":
      return t("Restored");
    case "set_aside":
      return t("Set aside");
  }
}

/** What letting a quarantined edit in would do, as a heading. */
export function wishText({ op, target }: Pick<QuarantineEntry, "op" | "target">): string {
  const place = targetText(target);
  switch (op) {
    case "insert":
      return t("Add to {0}", place);
    case "replace":
    case "rethink":
      return t("Change in {0}", place);
    case "delete":
      return t("Delete from {0}", place);
    case "set_aside":
      return t("Put back into {0}", place);
  }
}

export function authorText(author: MemoryCommit["author"]): string {
  switch (author) {
    case "owner":
      return t("you");
    case "agent":
      return t("Lancelot");
    case "system":
      return t("the host, by its rules");
  }
}

export function sourceText(source: MemoryItem["provenance"]["source"]): string {
  switch (source) {
    case "user":
      return t("from you");
    case "agent":
      return t("concluded by Lancelot");
    case "tool":
      return t("from a tool");
    case "system":
      return t("from the host");
  }
}

export function commitLook({ status }: Pick<MemoryCommit, "status">): { icon: string; text: string; kind: string } {
  switch (status) {
    case "open":
      return { icon: "circle-outline", text: t("Open"), kind: "attention" };
    case "committed":
      return { icon: "git-commit", text: t("Committed"), kind: "good" };
    case "rolled_back":
      return { icon: "discard", text: t("Rolled back"), kind: "quiet" };
    case "abandoned":
      return { icon: "circle-slash", text: t("Dropped"), kind: "quiet" };
  }
}

export function entryLook(status: QuarantineEntry["status"]): { icon: string; text: string; kind: string } {
  switch (status) {
    case "pending":
      return { icon: "bell", text: t("Waiting"), kind: "attention" };
    case "promoted":
      return { icon: "pass-filled", text: t("Promoted"), kind: "good" };
    case "denied":
      return { icon: "circle-slash", text: t("Denied"), kind: "quiet" };
    case "withdrawn":
      return { icon: "discard", text: t("Withdrawn"), kind: "quiet" };
  }
}

export function jobText(name: MemoryJobName): string {
  switch (name) {
    case "memory_compact_working":
      return t("Tidy working memory");
    case "memory_decay_archival":
      return t("Let the archive fade");
    case "memory_summarize_episodic":
      return t("Summarize episodes");
    case "memory_integrity_audit":
      return t("Check integrity");
  }
}

export function percent(share: number): string {
  return `${formatNumber(Math.round(share * 100))} %`;
}

const partNames: readonly (readonly [key: string, name: () => string, look: Part["look"]])[] = [
  ["persona", () => blockText("persona"), "plain"],
  ["human", () => blockText("human"), "dots"],
  ["operating_rules", () => blockText("operating_rules"), "lines"],
  ["mission", () => blockText("mission"), "cross"],
  ["workspace_state", () => blockText("workspace_state"), "plain"],
  ["working", () => tierText("working"), "dots"],
  ["episodic", () => tierText("episodic"), "lines"],
  ["archival", () => tierText("archival"), "cross"],
  ["frame", () => t("Titles and marks"), "plain"],
];

/** Parts of a compiled context for its bar, in the order they stand in it; parts of nothing are left out. */
export function contextParts(breakdown: Readonly<Record<string, number>>): Part[] {
  return partNames.flatMap(([key, name, look]) => {
    const value = breakdown[key] ?? 0;
    return value === 0 ? [] : [{ key: `memory-${key}`, name: name(), look, value }];
  });
}

/** Lines of a diff from one text to another, either of which may not be. */
export function changedLines(before: string | null, after: string | null): string[] {
  const split = (text: string | null): string[] => (text === null || text === "" ? [] : text.split("\n"));
  return diffArrays(split(before), split(after)).flatMap(({ value, added, removed }) =>
    value.map((line) => `${added ? "+" : removed ? "-" : " "}${line}`),
  );
}
