import * as z from "zod";
import type { ReasoningPart } from "../../contract/chat.ts";

/** The answer of the reasoning call. */
export const Reasoning = z.object({
  strategy: z.string().describe("How to do the task, in at most 10 short lines, naming files, commands and the order."),
  risks: z.array(z.string()).describe("What could go wrong, and how to notice it. Empty when nothing can."),
  gaps: z.array(z.string()).describe("Tools, access or knowledge that the task needs and you do not have. Empty when nothing is missing."),
});
export type Reasoning = z.infer<typeof Reasoning>;

/** Lengths of a stored artifact (characters), and entries per list. */
const bounds = { strategy: 4_000, line: 400, entries: 12, thinking: 8_000 };

/** A line that names a missing capability, in whatever text the model wrote. */
const gapLine = /^[ \t]*(?:[-*][ \t]*)?CAPABILITY GAP:[ \t]*(\S[^\n]*)$/gim;

/** The artifact of an answer and the thinking before it: bounded, with the gaps of both. */
export function artifactOf(answer: Reasoning, thinking: string): Pick<ReasoningPart, "strategy" | "risks" | "gaps" | "thinking"> {
  const marked = [thinking, answer.strategy].flatMap((text) =>
    Array.from(text.slice(0, 100_000).matchAll(gapLine), (match) => match[1] ?? ""),
  );
  return {
    strategy: cut(answer.strategy.trim(), bounds.strategy),
    risks: linesOf(answer.risks),
    gaps: linesOf([...answer.gaps, ...marked]),
    thinking: cut(thinking.trim(), bounds.thinking),
  };
}

/** What the model reads of the artifact before its first step. */
export function artifactText({ strategy, risks, gaps }: Pick<ReasoningPart, "strategy" | "risks" | "gaps">): string {
  const list = (title: string, entries: readonly string[]): string[] =>
    entries.length === 0 ? [] : [`${title}:`, ...entries.map((entry) => `- ${entry}`)];
  return [
    "[You thought about this request before the first step. Follow it where it fits what you find; name missing capabilities in your answer.]",
    strategy,
    ...list("Risks", risks),
    ...list("Capability gaps", gaps),
  ].join("\n");
}

function linesOf(entries: readonly string[]): string[] {
  const lines = entries
    .slice(0, 10 * bounds.entries)
    .map((entry) =>
      cut(
        entry
          .slice(0, 10 * bounds.line)
          .replaceAll(/\s+/g, " ")
          .trim(),
        bounds.line,
      ),
    )
    .filter((entry) => entry !== "");
  return [...new Set(lines)].slice(0, bounds.entries);
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
