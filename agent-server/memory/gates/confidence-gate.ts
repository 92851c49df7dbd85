import type { MemorySettings } from "../memory-settings.ts";
import { type GateInput, refuse, type GateStep } from "./gate-step.ts";

/** The minimum confidence of an item, and of a core entry. Removals need none. */
export function checkConfidence(input: GateInput, settings: MemorySettings): GateStep {
  const { edit, author, verified, notes } = input;
  if (edit.op === "delete") return input;
  if (edit.confidence < settings.archival_floor)
    return refuse(
      "memory.confidence",
      `Its confidence, ${edit.confidence}, is below ${settings.archival_floor}: it is too uncertain to be saved.`,
      "Find evidence for it first.",
    );
  if (!edit.target.startsWith("core:") || edit.confidence >= settings.core_floor) return input;
  const global = edit.namespace === "global" && (author.by === "owner" || verified);
  return {
    ...input,
    edit: { ...edit, op: "insert", target: "archival", namespace: global ? "global" : "workspace", selector: null },
    notes: [
      ...notes,
      `Its confidence, ${edit.confidence}, is below ${settings.core_floor}, which a core block needs: it goes to archival memory instead of ${edit.target}.`,
    ],
  };
}
