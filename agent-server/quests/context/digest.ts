import { posix } from "node:path";
import type { ToolPart } from "../../contract/chat.ts";
import { estimateTokens, shorten } from "../../context/context.ts";
import { fileOf } from "./quest-pieces.ts";
import type { StoredMessage } from "../stored-quest.ts";

const sentenceCharacters = 240;

/**
 * Summarizes messages by rules: requests, reads, searches, commands and changes with their results, and the conclusions of the model.
 * At most about `tokens` long; older requests are shortened first, then omitted.
 */
export function digest(messages: readonly StoredMessage[], tokens: number): string {
  const episodes = toEpisodes(messages).map(({ asked, lines }) => [asked, ...lines]);
  const detailed = episodes.map((lines) => lines.join("\n"));
  const brief = episodes.map(([asked, ...lines]) => [asked, ...lines.slice(-1)].join("\n"));
  // Newest first: in detail if it fits, else briefly.
  const kept: string[] = [];
  let left = tokens;
  let cut = 0;
  for (let index = episodes.length - 1; index >= 0; index -= 1) {
    const fitting = [detailed[index], brief[index]].find((text) => text !== undefined && estimateTokens(text) <= left);
    if (fitting === undefined) {
      cut = index + 1;
      break;
    }
    kept.unshift(fitting);
    left -= estimateTokens(fitting);
  }
  if (kept.length === 0) {
    const last = detailed.at(-1);
    // Not even the last request fits, so keep its beginning and end.
    if (last !== undefined) kept.push(shorten(last, Math.max(tokens * 2, 200)));
    cut = Math.max(episodes.length - 1, 0);
  }
  return (cut > 0 ? [`(${String(cut)} earlier ${cut === 1 ? "request is" : "requests are"} omitted)`, ...kept] : kept).join("\n");
}

/** Renders messages as text for a model to summarize, with the results of calls and shortened outputs. */
export function transcript(messages: readonly StoredMessage[], outputCharacters: number): string {
  return messages
    .flatMap(({ message, turn }) => {
      if (turn === null) return [];
      const speaker = turn.kind === "assistant" ? "Assistant" : message.parts.some((part) => part.type === "text") ? "User" : "Host";
      const texts =
        turn.kind === "retrieval"
          ? []
          : turn.content.flatMap((item) =>
              item.type === "text" && item.text.trim() !== ""
                ? [`${"attached" in item && item.attached ? "Attached" : speaker}: ${shorten(item.text.trim(), outputCharacters)}`]
                : [],
            );
      const calls = message.parts.flatMap((part) =>
        part.type === "tool" ? [`Tool ${part.title} (${part.status}): ${shorten(part.output ?? "", outputCharacters)}`] : [],
      );
      return [...texts, ...calls];
    })
    .join("\n");
}

interface Episode {
  asked: string;
  lines: string[];
}

/** Groups the messages by request. */
function toEpisodes(messages: readonly StoredMessage[]): Episode[] {
  const episodes: Episode[] = [];
  let calls: ToolPart[] = [];
  let last: Episode | null = null;
  const current = (): Episode => {
    if (last !== null) return last;
    last = { asked: "Before:", lines: [] };
    episodes.push(last);
    return last;
  };
  const flush = (): void => {
    if (calls.length > 0) current().lines.push(...describeCalls(calls));
    calls = [];
  };
  for (const { message, turn } of messages) {
    if (turn?.kind === "user") {
      const text = firstSentence(turn.content.map((item) => (item.type === "text" && item.attached !== true ? item.text : "")).join(" "));
      if (text === "") continue;
      flush();
      if (message.parts.some((part) => part.type === "text")) {
        last = { asked: `- Asked: ${text}`, lines: [] };
        episodes.push(last);
      } else current().lines.push(`  Then: ${text}`);
      continue;
    }
    calls.push(...message.parts.filter((part): part is ToolPart => part.type === "tool"));
    if (turn?.kind !== "assistant" || turn.content.some((item) => item.type === "tool_call")) continue;
    flush();
    const said = firstSentence(turn.content.map((item) => (item.type === "text" ? item.text : "")).join(" "));
    if (said !== "") current().lines.push(`  Answered: ${said}`);
  }
  flush();
  return episodes;
}

/** Lists all reads in one line, and every other call with its result. */
function describeCalls(calls: readonly ToolPart[]): string[] {
  const read = new Set<string>();
  const rest = new Map<string, number>();
  for (const part of calls) {
    const path = fileOf(part);
    if (part.tool === "read_file" && part.status === "success" && path !== null) read.add(posix.normalize(path));
    else if (part.tool !== "update_plan" && part.tool !== "ask_owner") {
      const line = `${part.title}: ${outcomeOf(part)}`;
      rest.set(line, (rest.get(line) ?? 0) + 1);
    }
  }
  const lines = [...rest].map(([line, times]) => `  ${line}${times > 1 ? ` (${String(times)} times)` : ""}`);
  return read.size === 0 ? lines : [`  Read: ${[...read].join(", ")}`, ...lines];
}

function outcomeOf(part: ToolPart): string {
  if (part.command?.exitCode !== undefined && part.command.exitCode !== null) return `exit code ${String(part.command.exitCode)}`;
  if (part.status === "success") return "done";
  const why = firstSentence(part.output ?? "").slice(0, 120);
  return why === "" ? part.status : `${part.status}: ${why}`;
}

function firstSentence(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const end = /[.!?](?=\s|$)/u.exec(line)?.index;
  const sentence = end === undefined ? line : line.slice(0, end + 1);
  return sentence.length > sentenceCharacters ? `${sentence.slice(0, sentenceCharacters)}…` : sentence;
}
