import * as z from "zod";
import { EditOp, MemoryKind, MemoryTarget, Namespace, Provenance, Tag } from "../../contract/memory.ts";
import type { MemorySettings } from "../memory-settings.ts";
import type { Author, GatedEdit, ProposedEdit } from "../item-types.ts";
import { cleanText } from "./hidden-characters.ts";
import { type GateInput, refuse, type GateStep } from "./gate-step.ts";

const Proposed = z.object({
  op: EditOp,
  target: MemoryTarget,
  selector: z.string().min(1).max(4_000).optional(),
  content: z.string().max(200_000).optional(),
  reason: z.string().min(1).max(2_000),
  confidence: z.number().min(0).max(1),
  provenance: Provenance,
  namespace: Namespace.optional(),
  tags: z.array(Tag).max(20).optional(),
  kind: MemoryKind.optional(),
  ttlSeconds: z.int().min(60).max(2_592_000).optional(),
});
const AuthorShape = z.object({ by: z.enum(["owner", "agent", "system"]), questId: z.string().nullable() });

const defaultKinds: Readonly<Record<GatedEdit["target"], MemoryKind>> = {
  "core:persona": "rule",
  "core:human": "preference",
  "core:operating_rules": "rule",
  "core:mission": "decision",
  "core:workspace_state": "fact",
  working: "note",
  episodic: "event",
  archival: "fact",
};

/** The first gate: required fields, lengths, and the default namespace. */
export function checkShape(proposed: ProposedEdit, from: Author, settings: MemorySettings): GateStep {
  const parsed = Proposed.safeParse(proposed);
  const author = AuthorShape.safeParse(from);
  if (!parsed.success || !author.success)
    return refuse("memory.shape", `The edit is invalid: ${z.prettifyError(parsed.error ?? author.error ?? new z.ZodError([]))}`);
  const edit = parsed.data;
  const { questId, by } = author.data;
  const notes: string[] = [];

  let content: string | null = null;
  if (edit.op !== "delete") {
    const clean = cleanText(edit.content ?? "");
    content = clean.text;
    if (clean.hidden > 0) notes.push("Invisible characters were removed from the text.");
    const isReference = by === "system" && edit.target === "episodic" && edit.kind === "message" && edit.provenance.ref !== undefined;
    if (content === "" && !isReference) return refuse("memory.shape", `There is no text to ${edit.op}.`, "Put the text into content.");
    if (content.length > settings.item_characters)
      return refuse(
        "memory.size",
        `The text has ${content.length} characters; the limit is ${settings.item_characters}.`,
        "Save the fact, not its source.",
        "Split it into several items.",
      );
  }
  if (edit.op !== "insert" && edit.selector === undefined)
    return refuse(
      "memory.shape",
      `Without a selector there is nothing to ${edit.op}.`,
      "Name the item: its id, its text, or a part of its text.",
    );
  if (edit.ttlSeconds !== undefined && edit.target !== "working") notes.push("Only working memory has a time to live; it was ignored.");

  let kind = edit.kind ?? defaultKinds[edit.target];
  if (kind === "message" && by !== "system") {
    kind = "event";
    notes.push("Only Lancelot stores messages; this is saved as an event.");
  }
  const input: GateInput = {
    edit: {
      op: edit.op,
      target: edit.target,
      namespace: edit.namespace ?? defaultNamespace(edit.target, questId),
      selector: edit.op === "insert" ? null : cleanText(edit.selector ?? "").text,
      content,
      kind,
      tags: [...new Set((edit.tags ?? []).map((tag) => cleanText(tag).text).filter((tag) => Tag.safeParse(tag).success))],
      confidence: edit.confidence,
      provenance: edit.provenance,
      reason: cleanText(edit.reason).text || "No reason given.",
      ttlSeconds: edit.target === "working" ? (edit.ttlSeconds ?? null) : null,
    },
    author: author.data,
    verified: false,
    notes,
    why: null,
  };
  if (input.edit.selector === "") return refuse("memory.shape", "The selector names nothing.", "Name the item by its id or its text.");
  return input;
}

/** The namespace of an edit without one. */
export function defaultNamespace(target: GatedEdit["target"], questId: string | null): string {
  if (target === "core:human" || target === "core:operating_rules" || target === "core:persona") return "global";
  const quest = questId === null ? null : Namespace.safeParse(`quest:${questId}`);
  return (target === "working" || target === "episodic") && quest?.success === true ? quest.data : "workspace";
}
