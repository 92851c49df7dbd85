import { diffArrays } from "diff";
import {
  type CoreBlockName,
  experienceNamespace,
  type MemoryCommit,
  type MemoryDiff,
  type MemoryItem,
  type MemoryJobName,
  type MemoryKind,
  type MemoryTarget,
  type MemoryTier,
  type QuarantineEntry,
} from "../../../agent-server/contract/memory.ts";
import type { StateProps } from "../../shared/components.tsx";
import { t } from "../../shared/l10n.ts";
import type { Part } from "../charts.tsx";
import type { Section } from "./memory-state.ts";

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
      return t("Maintenance");
  }
}

export function blockText(block: CoreBlockName): string {
  switch (block) {
    case "persona":
      return t("Persona");
    case "human":
      return t("About you");
    case "operating_rules":
      return t("Working rules");
    case "mission":
      return t("Mission");
    case "workspace_state":
      return t("This workspace");
  }
}

/** Describes the content of a block in one sentence. */
export function blockMeaning(block: CoreBlockName): string {
  switch (block) {
    case "persona":
      return t("Lancelot's identity. It comes from the soul; change it there.");
    case "human":
      return t("What Lancelot knows about you, from USER.md and your messages.");
    case "operating_rules":
      return t("How you want Lancelot to work.");
    case "mission":
      return t("Your current goals.");
    case "workspace_state":
      return t("Facts about this workspace for every task.");
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

/** Returns the block or tier of an item, such as `About you` or `Archive`. */
export function placeText({ tier, block }: Pick<MemoryItem, "tier" | "block">): string {
  return block === null ? tierText(tier) : blockText(block);
}

const coreTarget = "core:";

export function targetText(target: MemoryTarget): string {
  return target.startsWith(coreTarget) ? blockText(target.slice(coreTarget.length) as CoreBlockName) : tierText(target as MemoryTier);
}

export function namespaceText(namespace: string): string {
  if (namespace === "global") return t("everywhere");
  if (namespace === experienceNamespace) return t("outcomes of tasks");
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
      return t("Quarantined");
  }
}

/** Describes the effect of approving a quarantined edit, as a heading. */
export function quarantinedEditText({ op, target }: Pick<QuarantineEntry, "op" | "target">): string {
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
      return t("Restore to {0}", place);
  }
}

export function authorText(author: MemoryCommit["author"]): string {
  switch (author) {
    case "owner":
      return t("you");
    case "agent":
      return t("Lancelot");
    case "system":
      return t("the agent host");
  }
}

export function sourceText(source: MemoryItem["provenance"]["source"]): string {
  switch (source) {
    case "user":
      return t("from you");
    case "agent":
      return t("inferred by Lancelot");
    case "tool":
      return t("from a tool");
    case "system":
      return t("from the agent host");
  }
}

export function commitState({ status }: Pick<MemoryCommit, "status">): StateProps {
  switch (status) {
    case "open":
      return { icon: "circle-outline", text: t("Open"), kind: "attention" };
    case "committed":
      return { icon: "git-commit", text: t("Committed"), kind: "good" };
    case "rolled_back":
      return { icon: "discard", text: t("Rolled back"), kind: "quiet" };
    case "abandoned":
      return { icon: "circle-slash", text: t("Abandoned"), kind: "quiet" };
  }
}

export function quarantineState(status: QuarantineEntry["status"]): StateProps {
  switch (status) {
    case "pending":
      return { icon: "bell", text: t("Pending"), kind: "attention" };
    case "promoted":
      return { icon: "pass-filled", text: t("Approved"), kind: "good" };
    case "denied":
      return { icon: "circle-slash", text: t("Rejected"), kind: "quiet" };
    case "withdrawn":
      return { icon: "discard", text: t("Withdrawn"), kind: "quiet" };
  }
}

export function jobText(name: MemoryJobName): string {
  switch (name) {
    case "memory_compact_working":
      return t("Compact working memory");
    case "memory_decay_archival":
      return t("Decay old memories");
    case "memory_summarize_episodic":
      return t("Summarize episodes");
    case "memory_integrity_audit":
      return t("Check integrity");
  }
}

const partNames: readonly (readonly [key: string, name: () => string, pattern: Part["pattern"]])[] = [
  ["persona", () => blockText("persona"), "plain"],
  ["human", () => blockText("human"), "dots"],
  ["operating_rules", () => blockText("operating_rules"), "lines"],
  ["mission", () => blockText("mission"), "cross"],
  ["workspace_state", () => blockText("workspace_state"), "plain"],
  ["working", () => tierText("working"), "dots"],
  ["episodic", () => tierText("episodic"), "lines"],
  ["archival", () => tierText("archival"), "cross"],
  ["frame", () => t("Headings and markup"), "plain"],
];

/** Returns the parts of a compiled context for its chart, in prompt order and without empty parts. */
export function contextParts(breakdown: Readonly<Record<string, number>>): Part[] {
  return partNames.flatMap(([key, name, pattern]) => {
    const value = breakdown[key] ?? 0;
    return value === 0 ? [] : [{ key: `memory-${key}`, name: name(), pattern, value }];
  });
}

/** Returns the diff lines from one text to another; null stands for a missing text. */
export function changedLines(before: string | null, after: string | null): string[] {
  const split = (text: string | null): string[] => (text === null || text === "" ? [] : text.split("\n"));
  return diffArrays(split(before), split(after)).flatMap(({ value, added, removed }) =>
    value.map((line) => `${added ? "+" : removed ? "-" : " "}${line}`),
  );
}
