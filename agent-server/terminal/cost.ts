import { parseAmount, formatUsdAmount } from "../contract/amounts.ts";
import { LancelotError } from "../contract/errors.ts";
import type { UsageRow, UsageSum, UsageSummary } from "../contract/usage.ts";
import { openSession, type Session } from "./session.ts";
import type { CommandLine } from "./terminal.ts";

const wanted = "Use: lancelot usage [DAYS], or lancelot usage cap task|day AMOUNT (US dollars; none takes the cap away).";

/** `lancelot usage [DAYS]`: what models used and cost. `usage cap task|day AMOUNT|none`: what they may cost. */
export async function cost(line: CommandLine): Promise<number> {
  const [first = "30", ...rest] = line.words;
  const days = Number(first);
  const isCap = first === "cap" && rest.length === 2;
  if (!isCap && (rest.length > 0 || !Number.isInteger(days))) throw new LancelotError("invalid_params", wanted);
  const session = await openSession(line, null, false);
  try {
    if (isCap) return await setCap(session, rest[0] ?? "", rest[1] ?? "");
    const summary = await session.call("usage.summary", { days });
    process.stdout.write(line.json ? `${JSON.stringify(summary)}\n` : tell(summary, days));
    return summary.capsProblem === null ? 0 : 1;
  } finally {
    await session.close();
  }
}

async function setCap(session: Session, which: string, text: string): Promise<number> {
  const amount = text === "none" ? null : parseAmount(text);
  if ((which !== "task" && which !== "day") || amount === undefined) throw new LancelotError("invalid_params", wanted);
  const { caps } = await session.call("usage.summary", { days: 1 });
  const written = await session.call("usage.setCaps", which === "task" ? { ...caps, questUsd: amount } : { ...caps, dayUsd: amount });
  process.stdout.write(`Caps: ${capOf(written.questUsd)} for a task, ${capOf(written.dayUsd)} for a day.\n`);
  return 0;
}

function tell({ total, today, byLane, byModel, byQuest, savings, caps, capsProblem, prices }: UsageSummary, days: number): string {
  const rows = (title: string, of: readonly UsageRow[]): string[] =>
    of.length === 0 ? [] : ["", title, ...of.map((row) => `  ${costOf(row).padStart(12)}  ${tokensOf(row)}  ${row.name}`)];
  return `${[
    `Today: ${costOf(today)}${caps.dayUsd === null ? "" : ` of ${usd(caps.dayUsd)}`} in ${callsOf(today)}`,
    `The last ${days} days: ${costOf(total)} in ${callsOf(total)}`,
    `Saved: ${usd(savings.savedUsd)} by work on this machine, ${usd(savings.cacheSavingsUsd)} by the providers' caches`,
    `Caps: ${capOf(caps.questUsd)} for a task, ${capOf(caps.dayUsd)} for a day`,
    ...rows("By lane", byLane),
    ...rows("By model", byModel),
    ...rows("By task", byQuest.slice(0, 10)),
    ...(prices.missing.length === 0 ? [] : ["", `Without a price (config/prices.yaml): ${prices.missing.join(", ")}`]),
    ...[capsProblem, prices.problem].filter((problem) => problem !== null),
  ].join("\n")}\n`;
}

function tokensOf({ usage }: UsageSum): string {
  const words = (n: number): string => n.toLocaleString("en-US");
  return `${words(usage.inputTokens)} in (${words(usage.cachedInputTokens)} from a cache), ${words(usage.outputTokens)} out`;
}

function callsOf({ calls }: UsageSum): string {
  return `${calls.toLocaleString("en-US")} ${calls === 1 ? "call" : "calls"}`;
}

function costOf({ costUsd, unpricedCalls, calls }: UsageSum): string {
  if (unpricedCalls === 0) return usd(costUsd);
  return unpricedCalls === calls ? "not known" : `${usd(costUsd)} and more`;
}

function capOf(amount: number | null): string {
  return amount === null ? "none" : usd(amount);
}

function usd(amount: number): string {
  return formatUsdAmount(amount, "en-US");
}
