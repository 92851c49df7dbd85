import * as z from "zod";
import { MemoryKind, MemoryTarget, MemoryTier, Namespace, type Provenance, Tag } from "../../contract/memory.ts";
import { type ActionContext, actionContextOf } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Result } from "../../contract/table.ts";
import type { MemoryActionFactory } from "../memory/memory-actions.ts";
import type { Scope } from "../tool.ts";

const blocks = ["persona", "human", "operating_rules", "mission", "workspace_state"] as const;

// Schemas are sent with every request, so limits are checked here instead and reported when exceeded.

/** A text of a bounded length. */
export function words(min: number, max: number) {
  return z.string().refine((text) => text.length >= min && text.length <= max, `${min} to ${max} characters`);
}

/** The target; models may omit the tier of a block. The persona is accepted here and refused by a gate. */
export const TargetArgument = z.preprocess(
  (value) => (typeof value === "string" && blocks.some((block) => block === value) ? `core:${value}` : value),
  z
    .string()
    .refine((target): target is MemoryTarget => MemoryTarget.safeParse(target).success, `one of ${MemoryTarget.options.join(", ")}`),
);

const asList = (value: unknown): unknown =>
  typeof value === "string"
    ? value
        .split(",")
        .map((one) => one.trim())
        .filter((one) => one !== "")
    : value;
const asNumber = (value: unknown): unknown => (typeof value === "string" && value.trim() !== "" ? Number(value) : value);

/** A list; models may also send one comma-separated string. */
export const TagsArgument = z.preprocess(
  asList,
  z
    .array(z.string().refine((tag) => Tag.safeParse(tag).success, "letters, digits and spaces, at most 60"))
    .refine((tags) => tags.length <= 20, "at most 20"),
);
export const TiersArgument = z.preprocess(asList, z.array(MemoryTier));
export const NamespaceArgument = z
  .string()
  .refine((name) => Namespace.safeParse(name).success, "global, workspace, task_experience or quest:<id>");
export const KindArgument = MemoryKind.extract(["fact", "preference", "rule", "decision", "note", "event"]);
export const SelectorArgument = words(1, 4000);
export const TextArgument = words(1, 20_000);
export const ReasonArgument = words(1, 2000);
export const CommitArgument = words(1, 200);
const ConfidenceArgument = z.preprocess(
  asNumber,
  z.number().refine((value) => value >= 0 && value <= 1, "0 to 1"),
);

/** The evidence reference; models may also send source and reference separately. */
const ProvenanceArgument = z.preprocess(
  (value) => {
    if (typeof value !== "object" || value === null) return value;
    const { source, ref } = value as { source?: unknown; ref?: unknown };
    return typeof ref === "string" && ref !== "" ? ref : source;
  },
  words(0, 500),
);

/** The provenance that a reference claims; the gates check it. */
export function provenanceOf(ref: string | undefined): Provenance {
  if (ref === undefined || ref === "" || ref === "agent" || ref === "system") return { source: "agent" };
  if (ref === "user" || ref === "tool") return { source: ref };
  return { source: ref.startsWith("message:") ? "user" : ref.startsWith("receipt:") ? "tool" : "agent", ref };
}

/** Arguments of every edit. */
export const editArguments = {
  reason: ReasonArgument,
  confidence: ConfidenceArgument.optional(),
  provenance: ProvenanceArgument.optional(),
  commit_id: CommitArgument.optional(),
};

/** The confidence of an edit without one. */
export const defaultConfidence = 0.7;

/** The memory actions of a call and its caller. @throws LancelotError `disabled` without a memory */
export function memoryOfScope({ memory, call }: Pick<Scope, "memory" | "call">): { actions: MemoryActionFactory; caller: ActionContext } {
  if (memory === null) throw new LancelotError("disabled", "Memory is not available here.", { data: { flag: "MEMORY_VNEXT" } });
  return { actions: memory, caller: { ...actionContextOf(call), actor: "agent" } };
}

/** The answer to the model about an edit. */
export function editAnswer(
  actions: MemoryActionFactory,
  { commitId, outcome, target, content, notes, quarantineId, finished, diff }: Result<"memory.edit">,
): string {
  const lines = [headline()];
  const why = quarantineId === null ? undefined : actions.whyWaiting(quarantineId);
  if (why !== undefined) lines.push(`Why it waits: ${why}`);
  lines.push(...notes.map((note) => `Note: ${note}`));
  if (notes.length > 0 && content !== null && outcome !== "reinforced") lines.push(`As it stands: ${content}`);
  return lines.join("\n");

  function headline(): string {
    if (quarantineId !== null) return `Not in effect: quarantined (${quarantineId}) until the owner decides. Continue without it.`;
    if (outcome === "reinforced") return "This is already in memory and was confirmed.";
    if (!finished) return `Staged in ${commitId} (${target}). It takes effect with memory_finish_edits.`;
    const [changed] = diff;
    const done =
      changed === undefined
        ? "Nothing had to change"
        : `${changed.after === null ? "Forgotten" : "Remembered"}: ${changed.itemId} (${target})`;
    return `${done}. Commit ${commitId}.`;
  }
}
