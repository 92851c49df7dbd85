import type { Flag } from "../contract/flags.ts";
import { capabilities } from "../contract/governance.ts";
import type { ToolInfo } from "../contract/tools.ts";

/** The live state of the host that Lancelot is told about itself (requirement S3). */
export interface SelfFacts {
  readonly tools: readonly Pick<ToolInfo, "name" | "capability" | "baseTier" | "problem">[];
  readonly flags: readonly Pick<Flag, "name" | "enabled">[];
  readonly safeMode: boolean;
  /** False where nobody can answer a question. */
  readonly canAsk: boolean;
}

interface Limits {
  /** Null while the soul is switched off. */
  readonly soulVersion: string | null;
  /** Tokens. */
  readonly window: number;
  readonly answer: number;
}

/** What a capability without a tool means. */
const inabilities: Readonly<Record<(typeof capabilities)[number], string | null>> = {
  shell_exec: "run commands",
  repo_ops: "use git",
  file_ops: "read or change files",
  web_ops: "reach the network",
  ui_builder: "scaffold user interfaces",
  deploy_ops: "build, package or deploy",
  vision_control: "see or operate a screen",
  memory: "remember anything from one task to the next",
  skill: "run skills",
  connector: "send messages",
  quest: null,
  soul: null,
};

/**
 * What Lancelot is and can do at this moment, for the prompt: so that it neither promises what it cannot do nor refuses what it
 * can. From the state alone: the same state gives the same text.
 */
export function describeSelf(facts: SelfFacts, limits: Limits): string {
  const usable = facts.tools.filter((tool) => tool.problem === null);
  const unusable = facts.tools.filter((tool) => tool.problem !== null);
  const missing = capabilities.flatMap((capability) =>
    usable.some((tool) => tool.capability === capability) ? [] : (inabilities[capability] ?? []),
  );
  const off = facts.flags.filter((flag) => !flag.enabled).map((flag) => flag.name);
  const lines = [
    usable.length === 0
      ? "You have no tools here: you can only talk."
      : `You work through these tools and nothing else: ${usable.map((tool) => `${tool.name} (${tool.baseTier})`).join(", ")}. T0 only looks, T1 can be undone, T2 is checked afterwards, T3 waits for the owner.`,
    "Parts of you: a gate that judges every call before it runs, a ledger with a receipt of each, checkpoints before changes, review of edits by the owner, approvals, trust that is earned by outcomes, and models that can be exchanged.",
    ...(unusable.length === 0 ? [] : [`Not usable now: ${grouped(unusable)}`]),
    ...(missing.length === 0 ? [] : [`Here you cannot ${orList(missing)}. Say so where it matters, and what the owner could do instead.`]),
    limits.soulVersion === null
      ? "Your soul is switched off: policy, tiers and approvals decide alone."
      : `Your soul ${limits.soulVersion} is in force.`,
    ...(facts.safeMode ? ["Safe mode is on: only what works on this machine is left."] : []),
    ...(off.length === 0 ? [] : [`Switched off: ${off.join(", ")}.`]),
    ...(facts.canAsk ? [] : ["Nobody can answer you in this run: what would be asked is refused."]),
    `Your window holds ${limits.window} tokens, ${limits.answer} of them for an answer. Long results are cut, and say so.`,
  ];
  return `About yourself, from the live state of this host; it counts more than what you remember of yourself:\n${lines.map((one) => `- ${one}`).join("\n")}`;
}

/** Tools with the same reason share it. */
function grouped(tools: readonly Pick<ToolInfo, "name" | "problem">[]): string {
  const byReason = new Map<string, string[]>();
  for (const { name, problem } of tools) byReason.set(problem ?? "", [...(byReason.get(problem ?? "") ?? []), name]);
  return [...byReason].map(([reason, names]) => `${names.join(", ")} (${reason})`).join("; ");
}

function orList(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1) ?? ""}`;
}
