import { MemoryTarget, Namespace } from "../../contract/memory.ts";
import type { Intent } from "../../contract/governance.ts";
import { type PolicyFinding, policyFinding, type PolicyRule, askOwner, denial, rule, textArgument } from "./policy-finding.ts";

/** Long enough for a fact, short enough not to be a file. */
const maxMemory = 100_000;
/** Items that go at once without a question. */
const maxForgotten = 10;

/** What is done to one item of a target. */
const edits: ReadonlySet<string> = new Set(["insert", "replace", "rethink", "delete", "set_aside", "remember", "forget"]);
/** What leaves text in memory. */
const writing: ReadonlySet<string> = new Set(["insert", "replace", "rethink", "remember", "promote", "rollback"]);
/** What is done to a commit. */
const commits: ReadonlySet<string> = new Set(["begin", "finish", "abandon", "rollback"]);
/** What is the owner's alone, whoever can call it. */
const owners: ReadonlySet<string> = new Set(["remember", "forget", "promote", "deny", "import", "check_import", "job"]);

const leaveIt = "Leave it unwritten and say it in the answer.";

/**
 * Policy for memory: the persona is the soul's; what the soul's ethics forbid is not kept; what is the owner's is decided by
 * nobody else; what reaches beyond the workspace or takes back what somebody else did is asked. `author` is set by the code that knows who calls, never by a model.
 */
export const memoryRules: PolicyRule = (intent, _base, facts) => {
  if (intent.action !== "write") return policyFinding({ scope: "memory", key: "" });
  const op = textArgument(intent, "op") ?? "insert";
  const byOwner = intent.args["author"] === "owner";
  const target = targetOf(intent);
  const core = target?.startsWith("core:") === true;
  const scope = scopeOf(op, core);
  const no = (id: string, message: string, alternatives: readonly string[]): PolicyFinding =>
    policyFinding({ scope, denial: denial(id, message, alternatives, { tier: "T1" }) });

  if (!edits.has(op) && !commits.has(op) && !owners.has(op)) return no("memory.op", "This is nothing that is done to memory.", [askOwner]);
  if (owners.has(op) && !byOwner) return no("memory.owners", "This is the owner's to decide.", [askOwner]);
  if (target === "core:persona")
    return no("memory.persona", "The persona comes from the soul and is never edited.", [
      "Propose a change of the soul.",
      "Write to another block.",
    ]);
  if (edits.has(op) && !MemoryTarget.safeParse(target).success)
    return no("memory.target", `Memory has no ${target ?? "such place"}.`, [`Name one of ${writable.join(", ")}.`]);
  if (!facts.trusted && !byOwner && writing.has(op) && op !== "rollback" && target !== "working")
    return no("policy.untrusted", "This workspace is restricted: nothing of it is remembered beyond the task until you trust it.", [
      "Say it in the answer.",
      "Ask the owner to trust the workspace.",
    ]);
  if (op === "set_aside" && !byOwner && (core || intent.args["owners"] !== false))
    return no("memory.set-aside", "What you said, and what is in every prompt, is yours to set aside.", [
      "Propose to delete it with a reason.",
      "Tell the owner what is wrong with it.",
    ]);
  const space = namespaceProblem(intent, byOwner);
  if (space !== null) return no(space.id, space.message, ["Leave the namespace out.", leaveIt]);

  const content = [intent.args["content"], intent.args["old_text"], intent.args["new_text"]]
    .filter((text) => typeof text === "string")
    .join("\n");
  if (content.length > maxMemory) return no("memory.size", "This is too much for a memory.", ["Write down the fact, not the source."]);
  const forbidden = writing.has(op) ? (facts.soul?.forbidsMemory(content) ?? null) : null;
  if (forbidden !== null && !(forbidden.personal && byOwner)) {
    return policyFinding({
      scope,
      denial: {
        tier: "T1",
        riskLevel: "high",
        rules: [rule(`soul.memory-ethics.${forbidden.rule}`, forbidden.message, "soul")],
        alternatives: ["Leave the sensitive part out.", askOwner],
      },
    });
  }
  const asks = byOwner ? [] : questions(intent, op, core);
  return policyFinding({ scope, asks, alternatives: asks.length === 0 ? [leaveIt] : [askOwner, leaveIt] });
};

const writable = MemoryTarget.options.filter((target) => target !== "core:persona");

/** However it is spelled: what memory itself takes for the same block is not looked up here. */
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

/** A task writes into its own memory and that of the workspace. */
function namespaceProblem(intent: Intent, byOwner: boolean): { id: string; message: string } | null {
  const namespace = intent.args["namespace"];
  if (namespace === undefined) return null;
  const { data: named } = Namespace.safeParse(namespace);
  if (named === undefined) return { id: "memory.namespace", message: "This is no namespace of memory." };
  const other = named.startsWith("quest:") && named !== `quest:${intent.questId ?? ""}`;
  return other && !byOwner && intent.args["op"] !== "set_aside"
    ? { id: "memory.other-task", message: "What is remembered for one task alone is not written by another." }
    : null;
}

/** What policy asks the owner about when the agent wants it. */
function questions(intent: Intent, op: string, core: boolean): PolicyFinding["asks"] {
  const { args } = intent;
  const removed = Math.max(numberOf(args["deletes"]), op === "delete" ? numberOf(args["items"]) : 0);
  return [
    ...(op === "rollback" && args["foreign"] !== false
      ? [rule("memory.rollback-foreign", "This takes back what was remembered by you or in another task.")]
      : []),
    ...(removed > maxForgotten ? [rule("memory.forget-many", `This forgets ${removed} memories at once.`)] : []),
    ...(args["namespace"] === "global" && !core && writing.has(op)
      ? [rule("memory.everywhere", "This would be remembered in every workspace, not in this one alone.")]
      : []),
  ];
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
