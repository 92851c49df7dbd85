import type { Change } from "../contract/changes.ts";
import type { Message, Part, ToolPart } from "../contract/chat.ts";
import type { HostEvent } from "../contract/events.ts";
import { statesOfLine } from "../contract/visible-text.ts";
import { type Output, paint, type Piece } from "./output.ts";

const toolMark: Record<ToolPart["status"], string> = {
  queued: "·",
  waiting: "?",
  running: "…",
  success: "✓",
  failure: "✗",
  denied: "⊘",
  cancelled: "■",
};

/** The terminal command for each button that the editor offers. */
const nextStep: Partial<Record<NonNullable<Extract<Part, { type: "notice" }>["action"]>, string>> = {
  set_key: "Set an API key: lancelot key set NAME",
  choose_model: "Choose a model: lancelot models choose PROVIDER [MODEL]",
  download_model: "Download the local model: lancelot models download",
  raise_cap: "Raise the cap: lancelot usage cap task AMOUNT, or lancelot usage cap day AMOUNT",
  open_memory: "Search memory: lancelot memory search QUERY",
};

/** Colors and styles, without which the text stays as it is. Conceal is one too, so concealed text shows. */
// oxlint-disable-next-line no-control-regex -- control sequences are what is looked for
const styles = /\u001b\[[\d;:]*m/g;

/** Renders events of one quest for the terminal: streamed text, one line per finished tool, notices. */
export function createRenderer(questId: () => string | null, { write, line }: Pick<Output, "write" | "line">) {
  const printedText = new Map<string, number>();
  const printedParts = new Set<string>();
  const put = (text: string): void => write({ text, prose: true });

  /** Output of running commands: whole lines, marked with │ and without colors. */
  const printed = new Map<string, { rest: string; next: number }>();
  const output = (callId: string, offset: number, text: string) => {
    const state = printed.get(callId) ?? { rest: "", next: 0 };
    if (offset > state.next) {
      outputLine(state.rest);
      outputLine("…");
      state.rest = "";
    }
    const lines = `${state.rest}${text}`.split("\n");
    for (const one of lines.slice(0, -1)) outputLine(one);
    printed.set(callId, { rest: lines.at(-1) ?? "", next: offset + text.length });
  };
  const outputLine = (text: string) => {
    // Of a line that overwrote itself, such as a progress bar, the last state shows, and how many were before it.
    const states = statesOfLine(text);
    const shown = (states.at(-1) ?? "").replaceAll(styles, "");
    if (shown !== "") line(paint("dim", `│ ${states.length > 1 ? `⟨U+000D ×${String(states.length - 1)}⟩` : ""}${shown}`));
  };

  const textUpTo = (key: string, text: string) => {
    const done = printedText.get(key) ?? 0;
    if (text.length <= done) return;
    put(text.slice(done));
    printedText.set(key, text.length);
  };

  const part = (message: Message, index: number, value: Part) => {
    const key = `${message.id}:${index}`;
    if (value.type === "text") {
      textUpTo(key, value.text);
    } else if (
      value.type === "tool" &&
      !printedParts.has(value.callId) &&
      value.status !== "queued" &&
      value.status !== "running" &&
      value.status !== "waiting"
    ) {
      printedParts.add(value.callId);
      outputLine(printed.get(value.callId)?.rest ?? "");
      const facts = [value.tier, value.verdict, value.receiptId && `receipt ${value.receiptId}`].filter(Boolean).join(", ");
      line(paint(value.status === "success" ? "green" : "red", toolMark[value.status]), ` ${value.title} `, paint("dim", `(${facts})`));
      if (value.touched !== undefined && value.touched.total > 0) line(paint("dim", touchedText(value.touched)));
      if (value.status !== "success" && value.output && !printed.has(value.callId)) line(paint("dim", firstLines(value.output, 4)));
    } else if (value.type === "outcome" && !printedParts.has(key)) {
      printedParts.add(key);
      for (const { text, recorded } of value.actions)
        line(paint(recorded ? "green" : "yellow", recorded ? "✓" : "✗"), ` ${text}`, recorded ? "" : paint("dim", " (not recorded)"));
      if (value.nextAction !== undefined) line(paint("dim", `Next: ${value.nextAction}`));
    } else if (value.type === "notice" && !printedParts.has(key)) {
      printedParts.add(key);
      line(paint(value.level === "error" ? "red" : value.level === "warning" ? "yellow" : "cyan", value.level), `: ${value.text}`);
      const next = value.action === undefined ? undefined : nextStep[value.action];
      if (next !== undefined) line(paint("dim", next));
    }
  };

  return {
    handle(event: HostEvent) {
      const id = questId();
      if (event.topic === "delta" && event.payload.questId === id && event.payload.kind === "text") {
        const key = `${event.payload.messageId}:${event.payload.partIndex}`;
        // After a gap, the next `message` event brings the whole part.
        if ((printedText.get(key) ?? 0) === event.payload.offset) {
          put(event.payload.text);
          printedText.set(key, event.payload.offset + event.payload.text.length);
        }
      } else if (event.topic === "toolOutput" && event.payload.questId === id) {
        output(event.payload.callId, event.payload.offset, event.payload.text);
      } else if (event.topic === "message" && event.payload.questId === id && event.payload.role === "assistant") {
        for (const [index, value] of event.payload.parts.entries()) part(event.payload, index, value);
      }
    },
  };
}

function touchedText({ files, total }: NonNullable<ToolPart["touched"]>): string {
  const named = files.slice(0, 6).map(({ path, kind }) => `${path} (${kind})`);
  return `changed: ${named.join(", ")}${total > named.length ? ` and ${String(total - named.length)} more` : ""}`;
}

function firstLines(text: string, count: number): string {
  const lines = text.split("\n");
  return lines.length > count ? `${lines.slice(0, count).join("\n")}\n…` : text;
}

/** A change as a colored unified diff of its undecided hunks. */
export function changeText(change: Change, only?: number): Piece[] {
  const hunks = change.hunks.filter((hunk) => hunk.state === "pending" && (only === undefined || hunk.index === only));
  return [
    paint("bold", `${change.kind} ${change.path}`),
    ...hunks.flatMap((hunk) => [
      "\n",
      paint(
        "cyan",
        `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@ hunk ${hunk.index + 1} of ${change.hunks.length}`,
      ),
      ...hunk.lines.flatMap((text) => [
        "\n",
        text.startsWith("+") ? paint("green", text) : text.startsWith("-") ? paint("red", text) : text,
      ]),
    ]),
  ];
}
