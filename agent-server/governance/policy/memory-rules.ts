import { MemoryTarget, Namespace } from "../../contract/memory.ts";
import type { Intent } from "../../contract/governance.ts";
import { type PolicyFinding, policyFinding, type PolicyRule, askOwner, denial, rule, textArgument } from "./policy-finding.ts";

/** Characters. Enough for facts, too few for files. */
const maxMemory = 100_000;
/** Items that may be deleted at once without approval. */
const maxDeletes = 10;

/** Operations on one item of a target. */
const edits: ReadonlySet<string> = new Set(["insert", "replace", "rethink", "delete", "set_aside", "remember", "forget"]);
/** Operations that add text to memory. */
const writing: ReadonlySet<string> = new Set(["insert", "replace", "rethink", "remember", "promote", "rollback"]);
/** Operations on a commit. */
const commitOperations: ReadonlySet<string> = new Set(["begin", "finish", "abandon", "rollback"]);
/** Operations that only the owner may perform. */
const ownerOperations: ReadonlySet<string> = new Set(["remember", "forget", "promote", "deny", "import", "check_import", "job"]);

const skipWrite = "Skip the memory and say it in the answer.";

/**
 * Policy for memory: the persona comes from the soul, the soul's memory ethics apply, and owner operations are the owner's alone.
 * Writes for every workspace and rollbacks of others' commits require approval. `author` is set by trusted code, never by a model.
 */
export const assessMemory: PolicyRule = (intent, _base, facts) => {
  if (intent.action !== "write") return policyFinding({ scope: "memory", key: "" });
  const op = textArgument(intent, "op") ?? "insert";
  const byOwner = intent.args["author"] === "owner";
  const target = targetOf(intent);
  const core = target?.startsWith("core:") === true;
  const scope = scopeOf(op, core);
  const no = (id: string, message: string, alternatives: readonly string[]): PolicyFinding =>
    policyFinding({ scope, denial: denial(id, message, alternatives, { tier: "T1" }) });

  if (!edits.has(op) && !commitOperations.has(op) && !ownerOperations.has(op))
    return no("memory.op", "Unknown memory operation.", [askOwner]);
  if (ownerOperations.has(op) && !byOwner) return no("memory.owners", "Only you can perform this memory operation.", [askOwner]);
  if (target === "core:persona")
    return no("memory.persona", "The persona comes from the soul and cannot be edited.", [
      "Propose a soul amendment.",
      "Write to another block.",
    ]);
  if (edits.has(op) && !MemoryTarget.safeParse(target).success)
    return no("memory.target", `Unknown memory target ${target ?? "(none)"}.`, [`Use one of ${writable.join(", ")}.`]);
  if (!facts.trusted && !byOwner && writing.has(op) && op !== "rollback" && target !== "working")
    return no("policy.untrusted", "This workspace is restricted. Trust it to save memories beyond the task.", [
      "Say it in the answer.",
      "Ask the owner to trust the workspace.",
    ]);
  if (op === "set_aside" && !byOwner && (core || intent.args["owners"] !== false))
    return no("memory.set-aside", "Only you can quarantine your own statements and memories that are in every prompt.", [
      "Propose to delete it, with a reason.",
      "Tell the owner why it is wrong.",
    ]);
  const space = namespaceProblem(intent, byOwner);
  if (space !== null) return no(space.id, space.message, ["Omit the namespace.", skipWrite]);

  const content = [intent.args["content"], intent.args["old_text"], intent.args["new_text"]]
    .filter((text) => typeof text === "string")
    .join("\n");
  if (content.length > maxMemory) return no("memory.size", "The text is too long for a memory.", ["Store the fact, not the source."]);
  const forbidden = writing.has(op) ? (facts.soul?.forbidsMemory(content) ?? null) : null;
  if (forbidden !== null && !(forbidden.personal && byOwner)) {
    return policyFinding({
      scope,
      denial: {
        tier: "T1",
        riskLevel: "high",
        rules: [rule(`soul.memory-ethics.${forbidden.rule}`, forbidden.message, "soul")],
        alternatives: ["Remove the sensitive part.", askOwner],
      },
    });
  }
  const asks = byOwner ? [] : questions(intent, op, core);
  return policyFinding({ scope, asks, alternatives: asks.length === 0 ? [skipWrite] : [askOwner, skipWrite] });
};

const writable = MemoryTarget.options.filter((target) => target !== "core:persona");

/** The normalized target, because memory accepts several spellings of a block. */
function targetOf(intent: Intent): string | null {
  const target = textArgument(intent, "target")?.normalize("NFKC").trim().toLowerCase() ?? null;
  if (target === null) return null;
  const [tier, block] = [target.split(":")[0] ?? "", target.split(":").slice(1).join(":").trim()];
  if (target === "persona" || (tier.trim() === "core" && block === "persona")) return "core:persona";
  return block === "" ? target : `${tier.trim()}:${block}`;
}

function scopeOf(op: string, core: boolean): string {
  if (op === "rollback" || op === "set_aside") return op;
  return core ? "core" : "memory";
}

/** A task may write only to its own namespace and the workspace's. */
function namespaceProblem(intent: Intent, byOwner: boolean): { id: string; message: string } | null {
  const namespace = intent.args["namespace"];
  if (namespace === undefined) return null;
  const { data: named } = Namespace.safeParse(namespace);
  if (named === undefined) return { id: "memory.namespace", message: "Unknown memory namespace." };
  const other = named.startsWith("quest:") && named !== `quest:${intent.questId ?? ""}`;
  return other && !byOwner && intent.args["op"] !== "set_aside"
    ? { id: "memory.other-task", message: "A task cannot write the memory of another task." }
    : null;
}

/** Agent operations that require approval. */
function questions(intent: Intent, op: string, core: boolean): PolicyFinding["asks"] {
  const { args } = intent;
  const removed = Math.max(numberOf(args["deletes"]), op === "delete" ? numberOf(args["items"]) : 0);
  return [
    ...(op === "rollback" && args["foreign"] !== false
      ? [rule("memory.rollback-foreign", "Rolls back memories saved by you or by another task.")]
      : []),
    ...(removed > maxDeletes ? [rule("memory.forget-many", `Deletes ${removed} memories at once.`)] : []),
    ...(args["namespace"] === "global" && !core && writing.has(op)
      ? [rule("memory.everywhere", "Saves the memory for every workspace, not only this one.")]
      : []),
  ];
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
