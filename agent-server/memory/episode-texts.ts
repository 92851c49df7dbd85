import type { TimelineMessage } from "./item-types.ts";

export interface TaskEnd {
  readonly title: string;
  readonly outcome: "done" | "failed" | "cancelled";
  /** Tool names with their main argument. */
  readonly actions: readonly string[];
  readonly durationMs: number;
  /** The strategy of the reasoning pass, and the capabilities that it missed; absent without one. */
  readonly strategy?: string;
  readonly gaps?: readonly string[];
}

/** Lengths of the parts of an experience and a summary (characters). */
const bounds = { request: 300, strategy: 300, gap: 120, gaps: 5, action: 120, later: 160, answer: 400, actions: 12, laterRequests: 6 };

/** A text as one line of at most so many UTF-16 units, cut at a word boundary where possible. */
export function shortLine(text: string, most: number): string {
  const line = text.replaceAll(/\s+/gu, " ").trim();
  if (line.length <= most) return line;
  const start = line.slice(0, most - 1).toWellFormed();
  return `${start.replace(/(?<!\s)\s+\S*$/u, "") || start}…`;
}

/** A duration for people: `8 seconds`, `3 minutes`, `1 hour 5 minutes`. */
export function durationText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  if (seconds < 60) return amount(seconds, "second");
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return amount(minutes, "minute");
  const rest = minutes % 60;
  return `${amount(Math.floor(minutes / 60), "hour")}${rest === 0 ? "" : ` ${amount(rest, "minute")}`}`;
}

function amount(count: number, word: string): string {
  return `${String(count)} ${word}${count === 1 ? "" : "s"}`;
}

/**
 * A task's result in a few plain lines: request, actions, outcome and duration. With `request` null
 * the words of the owner and the model are omitted, and only facts from the host remain.
 */
export function experienceText(
  { outcome, actions, durationMs, strategy = "", gaps = [] }: Omit<TaskEnd, "title">,
  request: string | null,
): string {
  const did = [...new Set(actions.map((action) => shortLine(action, bounds.action)))].filter((action) => action !== "");
  const more = did.length - bounds.actions;
  const shown = did.slice(0, bounds.actions).join(", ");
  return [
    request === null ? null : `Asked: ${shortLine(request, bounds.request)}`,
    request === null || strategy === "" ? null : `Strategy: ${shortLine(strategy, bounds.strategy)}`,
    request === null || gaps.length === 0
      ? null
      : `Missing: ${gaps
          .slice(0, bounds.gaps)
          .map((gap) => shortLine(gap, bounds.gap))
          .join("; ")}`,
    did.length === 0 ? "Done without tools." : `Did: ${shown}${more > 0 ? ` and ${String(more)} more` : ""}.`,
    `Outcome: ${outcome}, after ${durationText(durationMs)}.`,
  ]
    .filter((line) => line !== null)
    .join("\n");
}

/** A task's summary by rules: its requests in order and the last answer. It is deterministic. */
export function summaryByRules(messages: readonly TimelineMessage[], most: number): string {
  const said = messages.filter(({ text }) => text.trim() !== "");
  const [first, ...later] = said.filter(({ role }) => role === "user");
  const answer = said.findLast(({ role }) => role === "assistant");
  const half = bounds.laterRequests / 2;
  const kept = later.length <= bounds.laterRequests ? later : [...later.slice(0, half), ...later.slice(-half)];
  const lines = [
    ...(first === undefined ? [] : [`Asked: ${shortLine(first.text, bounds.request)}`]),
    ...kept.map(({ text }) => `Then: ${shortLine(text, bounds.later)}`),
    ...(kept.length < later.length ? [`(${String(later.length - kept.length)} more requests between them)`] : []),
    ...(answer === undefined ? [] : [`Last answer: ${shortLine(answer.text, bounds.answer)}`]),
  ];
  const text = lines.join("\n");
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

/** The conversation for a summarizing model, with the beginning and end of a long one (characters). */
export function transcript(messages: readonly TimelineMessage[], most = 24_000): string {
  const text = messages
    .filter((message) => message.text.trim() !== "")
    .map(({ role, text: words }) => `${role === "user" ? "Owner" : "Assistant"}: ${words}`)
    .join("\n\n");
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half).toWellFormed()}\n\n…\n\n${text.slice(-half).toWellFormed()}`;
}
