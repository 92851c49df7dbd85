import type { Flag } from "../contract/flags.ts";
import { capabilities } from "../contract/governance.ts";
import type { ToolInfo } from "../contract/tools.ts";

/** Live state of the host for the self-description in the prompt (requirement S3). */
export interface SelfFacts {
  readonly tools: readonly Pick<ToolInfo, "name" | "capability" | "baseTier" | "problem">[];
  readonly flags: readonly Pick<Flag, "name" | "enabled">[];
  readonly safeMode: boolean;
  /** False when no user can answer questions in this run. */
  readonly canAsk: boolean;
}

interface Limits {
  /** Null while the soul is disabled. */
  readonly soulVersion: string | null;
  /** Tokens. */
  readonly window: number;
  readonly answer: number;
}

/** What Lancelot cannot do when no tool provides a capability. */
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
 * Describes for the prompt what Lancelot can do now, so that it neither promises what it cannot do nor refuses what it can.
 * The same state always gives the same text.
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
    ...(facts.canAsk ? [] : ["Nobody can answer you in this run: actions that need approval are denied."]),
    `Your window holds ${limits.window} tokens, ${limits.answer} of them for an answer. Long results are cut, and say so.`,
  ];
  return `About yourself, from the live state of this host; it counts more than what you remember of yourself:\n${lines.map((one) => `- ${one}`).join("\n")}`;
}

/** Lists tools by the reason they are unusable. */
function grouped(tools: readonly Pick<ToolInfo, "name" | "problem">[]): string {
  const byReason = new Map<string, string[]>();
  for (const { name, problem } of tools) byReason.set(problem ?? "", [...(byReason.get(problem ?? "") ?? []), name]);
  return [...byReason].map(([reason, names]) => `${names.join(", ")} (${reason})`).join("; ");
}

function orList(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1) ?? ""}`;
}
