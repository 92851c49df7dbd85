import { parseAmount, formatUsdAmount } from "../contract/amounts.ts";
import { LancelotError } from "../contract/errors.ts";
import type { UsageRow, UsageSum, UsageSummary } from "../contract/usage.ts";
import { out } from "./output.ts";
import { openSession, type Session } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

const usageHelp = "Usage: lancelot usage [DAYS], or lancelot usage cap task|day AMOUNT (US dollars; none removes the cap).";

/** `lancelot usage [DAYS]`: usage and cost of models. `usage cap task|day AMOUNT|none`: sets spending caps. */
export async function cost(line: CommandLine): Promise<number> {
  const [first = "30", ...rest] = line.words;
  const days = Number(first);
  const isCap = first === "cap" && rest.length === 2;
  if (!isCap && (rest.length > 0 || !Number.isInteger(days))) throw new LancelotError("invalid_params", usageHelp);
  const session = await openSession(line, null, false);
  try {
    if (isCap) return await setCap(session, rest[0] ?? "", rest[1] ?? "");
    const summary = await session.call("usage.summary", { days });
    if (line.json) out.json(summary);
    else out.write(tell(summary, days));
    return summary.capsProblem === null ? 0 : 1;
  } finally {
    await session.close();
  }
}

async function setCap(session: Session, which: string, text: string): Promise<number> {
  const amount = text === "none" ? null : parseAmount(text);
  if ((which !== "task" && which !== "day") || amount === undefined) throw new LancelotError("invalid_params", usageHelp);
  const { caps } = await session.call("usage.summary", { days: 1 });
  const written = await session.call("usage.setCaps", which === "task" ? { ...caps, questUsd: amount } : { ...caps, dayUsd: amount });
  out.write(`Spending caps: ${capOf(written.questUsd)} per task, ${capOf(written.dayUsd)} per day.\n`);
  return 0;
}

function tell({ total, today, byLane, byModel, byQuest, savings, caps, capsProblem, prices }: UsageSummary, days: number): string {
  const rows = (title: string, of: readonly UsageRow[]): string[] =>
    of.length === 0 ? [] : ["", title, ...of.map((row) => `  ${costOf(row).padStart(12)}  ${tokensOf(row)}  ${row.name}`)];
  return `${[
    `Today: ${costOf(today)}${caps.dayUsd === null ? "" : ` of ${usd(caps.dayUsd)}`} in ${callsOf(today)}`,
    `Last ${days} days: ${costOf(total)} in ${callsOf(total)}`,
    `Saved: ${usd(savings.savedUsd)} by local models, ${usd(savings.cacheSavingsUsd)} by prompt caching`,
    `Spending caps: ${capOf(caps.questUsd)} per task, ${capOf(caps.dayUsd)} per day`,
    ...rows("By lane", byLane),
    ...rows("By model", byModel),
    ...rows("By task", byQuest.slice(0, 10)),
    ...(prices.missing.length === 0 ? [] : ["", `No price in config/prices.yaml: ${prices.missing.join(", ")}`]),
    ...[capsProblem, prices.problem].filter((problem) => problem !== null),
  ].join("\n")}\n`;
}

function tokensOf({ usage }: UsageSum): string {
  const format = (n: number): string => n.toLocaleString("en-US");
  return `${format(usage.inputTokens)} input tokens (${format(usage.cachedInputTokens)} cached), ${format(usage.outputTokens)} output tokens`;
}

function callsOf({ calls }: UsageSum): string {
  return `${calls.toLocaleString("en-US")} ${calls === 1 ? "call" : "calls"}`;
}

function costOf({ costUsd, unpricedCalls, calls }: UsageSum): string {
  if (unpricedCalls === 0) return usd(costUsd);
  return unpricedCalls === calls ? "unknown" : `over ${usd(costUsd)}`;
}

function capOf(amount: number | null): string {
  return amount === null ? "none" : usd(amount);
}

function usd(amount: number): string {
  return formatUsdAmount(amount, "en-US");
}
