import { LancelotError } from "../contract/errors.ts";
import type { CommandPart, Decision } from "../contract/governance.ts";
import { out } from "./output.ts";
import { openSession } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/**
 * `lancelot policy explain "COMMAND"`: shows the decision on a command line and on each command in it, without running it.
 * @returns 0 when it would run without asking, 1 when it would need approval or be denied
 */
export async function policy(line: CommandLine): Promise<number> {
  const [word, ...rest] = line.words;
  const command = rest.join(" ");
  if (word !== "explain" || command.trim() === "") {
    throw new LancelotError("invalid_params", 'Usage: lancelot policy explain "COMMAND" [--cwd DIR] [--json]');
  }
  const session = await openSession(line, line.workspace, false);
  try {
    const found = await session.call("policy.explain", { command, ...(line.cwd !== undefined && { cwd: line.cwd }) });
    if (line.json) out.json(found);
    else out.write(explained(found));
    return found.decision.verdict === "allow" ? 0 : 1;
  } finally {
    await session.close();
  }
}

const verdicts = { allow: "runs without asking", ask: "requires approval", deny: "is denied" } as const;

/** The decision with its rules, then each command in order. */
function explained({ decision, parts }: { decision: Decision; parts: readonly CommandPart[] }): string {
  const lines = [`This command ${verdicts[decision.verdict]} (${decision.tier}, ${decision.riskLevel} risk).`];
  for (const rule of decision.rules) lines.push(`  ${rule.message} [${rule.id}]`);
  if (decision.alternatives.length > 0) lines.push("", "Alternatives:");
  for (const alternative of decision.alternatives) lines.push(`  ${alternative}`);
  if (parts.length > 0) lines.push("", "Commands in it:");
  for (const part of parts) {
    const within = part.within.length === 0 ? "" : ` (in ${part.within.join(", ")})`;
    lines.push(`  ${part.verdict.padEnd(5)} ${part.tier}  ${part.text.replaceAll("\n", " ")}${within}`);
    lines.push(`            ${part.rule.message} [${part.rule.id}]`);
  }
  return `${lines.join("\n")}\n`;
}
