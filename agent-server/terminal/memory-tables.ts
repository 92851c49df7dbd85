import type { CompiledContext, CoreBlock, MemoryCommit, MemoryDiff, MemoryItem, MemoryJob, QuarantineEntry } from "../contract/memory.ts";
import type { Result } from "../contract/table.ts";
import { columns, plainText } from "./columns.ts";

/** Most characters of a text in a table. */
const shown = 100;

function short(text: string): string {
  const line = plainText(text);
  return line.length <= shown ? line : `${line.slice(0, shown - 1).toWellFormed()}…`;
}

export function placeOf({ tier, block, namespace }: Pick<MemoryItem, "tier" | "block" | "namespace">): string {
  return `${block ?? tier} (${namespace})`;
}

export function statusText({ tiers, blocks, quarantined, openCommits, lastCommitAt, problem }: Result<"memory.status">): string {
  const rows = blocks.map(({ block, tokens, cap, version }) => [
    `  ${block}`,
    `${String(tokens)} of ${String(cap)} tokens`,
    block === "persona" ? "" : `version ${String(version)}`,
  ]);
  return [
    `Memories: ${String(tiers.core)} core, ${String(tiers.working)} working, ${String(tiers.episodic)} episodic, ${String(tiers.archival)} archival\n`,
    columns(rows),
    `In quarantine: ${String(quarantined)}. Open commits: ${String(openCommits)}. Last commit: ${lastCommitAt ?? "none"}\n`,
    problem === null ? "" : `${plainText(problem)}\n`,
  ].join("");
}

export function coreText(blocks: readonly CoreBlock[]): string {
  return blocks
    .map(({ block, tokens, cap, text, excluded }) =>
      [
        `${block} (${String(tokens)} of ${String(cap)} tokens)\n`,
        text === "" ? "  empty\n" : `${plainText(text, "all").replaceAll(/^/gmu, "  ")}\n`,
        ...excluded.map(({ id, reason }) => `  excluded: ${id}: ${plainText(reason)}\n`),
      ].join(""),
    )
    .join("\n");
}

export function itemsText(items: readonly MemoryItem[]): string {
  return columns(items.map((item) => [item.id, placeOf(item), item.weight.toFixed(2), short(item.content)]));
}

export function commitsText(commits: readonly MemoryCommit[]): string {
  return commits
    .map(({ id, status, author, createdAt, finishedAt, reason, changes, problem, diff }) =>
      [
        `${id}  ${status} by ${author}, ${finishedAt ?? createdAt}, ${String(changes)} changes: ${short(reason)}\n`,
        diffText(diff),
        status === "committed" && problem !== null ? `    cannot be rolled back: ${plainText(problem)}\n` : "",
      ].join(""),
    )
    .join("");
}

/** Most changes of a commit to show. */
const diffLines = 8;

export function diffText(diff: readonly MemoryDiff[]): string {
  const lines = diff.map(({ op, target, before, after }) => {
    const texts = [...(before === null ? [] : [`- ${short(before)}`]), ...(after === null ? [] : [`+ ${short(after)}`])];
    return [`    ${op} in ${target}`, ...texts.map((text) => `      ${text}`), ""].join("\n");
  });
  const more = lines.length - diffLines;
  return `${lines.slice(0, diffLines).join("")}${more > 0 ? `    and ${String(more)} more\n` : ""}`;
}

export function quarantineText(entries: readonly QuarantineEntry[]): string {
  return entries
    .map(({ id, op, target, content, current, why, reason, verifier }) =>
      [
        `${id}  ${op} in ${target}: ${short(content ?? current ?? "")}\n`,
        `    quarantined because: ${plainText(why)}\n    reason: ${short(reason)}\n`,
        ...verifier.problems.map(({ message }) => `    cannot be approved: ${plainText(message)}\n`),
      ].join(""),
    )
    .join("");
}

export function contextsText(contexts: readonly Omit<CompiledContext, "renderedPrompt">[]): string {
  return columns(
    contexts.map(({ contextId, createdAt, tokenEstimate, maxTokens, includedItemIds, excluded, objective }) => [
      contextId,
      createdAt,
      `${String(tokenEstimate)} of ${String(maxTokens)} tokens`,
      `${String(includedItemIds.length)} included, ${String(excluded.length)} excluded`,
      short(objective),
    ]),
  );
}

export function compiledText({ renderedPrompt, tokenEstimate, maxTokens, excluded }: CompiledContext): string {
  return [
    `${plainText(renderedPrompt, "all")}\n\n`,
    `${String(tokenEstimate)} of ${String(maxTokens)} tokens.\n`,
    ...excluded.map(({ id, reason }) => `excluded: ${id}: ${plainText(reason)}\n`),
  ].join("");
}

export function jobsText(jobs: readonly MemoryJob[]): string {
  return jobs
    .map(({ name, schedule, what, last, nextAt }) =>
      [
        `${name}  ${schedule}: ${what}\n`,
        last === null ? "    never ran" : `    ${last.status} ${last.at}: ${plainText(last.detail)}`,
        `${nextAt === null ? "" : ` (next ${nextAt})`}\n`,
      ].join(""),
    )
    .join("");
}
