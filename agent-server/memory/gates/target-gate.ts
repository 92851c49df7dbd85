import { experienceNamespace } from "../../contract/memory.ts";
import { type GateInput, refuse, type GateStep } from "./gate-step.ts";

/** The second gate: who may change which blocks and tiers, how, and in which namespace. */
export function checkTarget(input: GateInput): GateStep {
  const { edit, author } = input;
  const { op, target, namespace } = edit;
  if (target === "core:persona")
    return refuse(
      "memory.persona",
      "The persona comes from the soul and is never edited.",
      "Propose a change to the soul.",
      "Write to another block.",
    );
  if (target === "episodic" && op !== "insert" && author.by !== "owner")
    return refuse("memory.target", "Episodic memory is append-only.", "Add another event.");
  if (op === "rethink" && target !== "working" && target !== "archival")
    return refuse("memory.target", "Only working and archival memory can be rethought.", "Use replace, which waits for the owner.");

  const isCore = target.startsWith("core:");
  const quest = namespace.startsWith("quest:") ? namespace.slice("quest:".length) : null;
  if (isCore && quest !== null)
    return refuse("memory.namespace", "A core entry is global or belongs to the workspace, not to one task.", "Use working memory.");
  if ((target === "core:mission" || target === "core:workspace_state") && namespace !== "workspace")
    return refuse("memory.namespace", `${target} belongs to one workspace.`, "Omit the namespace.");
  if ((target === "working" || target === "episodic") && namespace === "global")
    return refuse(
      "memory.namespace",
      `Items of ${target} memory belong to a task or a workspace.`,
      "Omit the namespace.",
      "Use archival memory.",
    );
  if (namespace === experienceNamespace && (author.by === "agent" || target !== "episodic"))
    return refuse(
      "memory.namespace",
      "The agent host alone writes the outcomes of tasks.",
      "Use the namespace of this task, or workspace.",
    );
  if (author.by === "agent" && quest !== null && quest !== author.questId)
    return refuse("memory.namespace", "This namespace belongs to another task.", "Use the namespace of this task, or workspace.");
  return input;
}
