import type { WireFormat } from "./turn.ts";

/** What a model sends without end. */
export type Endless =
  | "text in small pieces"
  | "text in large pieces"
  | "thinking"
  | "text and thinking in turn"
  | "arguments of one call"
  | "calls"
  | "one line"
  | "one line of no field"
  | "one event of many lines"
  | "comments"
  | "empty events"
  | "unknown events"
  | "an error body"
  | "a web page";

export const endless: readonly Endless[] = [
  "text in small pieces",
  "text in large pieces",
  "thinking",
  "text and thinking in turn",
  "arguments of one call",
  "calls",
  "one line",
  "one line of no field",
  "one event of many lines",
  "comments",
  "empty events",
  "unknown events",
  "an error body",
  "a web page",
];

interface Pieces {
  begin: string;
  text(text: string): string;
  thinking(text: string): string;
  /** Opens the call whose arguments follow. */
  callBegin: string;
  argument(text: string): string;
  call(index: number): string;
  unknown: string;
}

const event = (value: Record<string, unknown>, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;
const named = (type: string, fields: Record<string, unknown>): string => event({ type, ...fields }, type);
const delta = (fields: Record<string, unknown>): string => event({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
const parts = (...list: Record<string, unknown>[]): string =>
  event({ candidates: [{ index: 0, content: { role: "model", parts: list } }] });

const formats: Record<WireFormat, Pieces> = {
  anthropic: {
    begin:
      named("message_start", { message: { id: "m", type: "message", role: "assistant", content: [], usage: { input_tokens: 9 } } }) +
      named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
      named("content_block_start", { index: 1, content_block: { type: "thinking", thinking: "", signature: "" } }),
    text: (text) => named("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
    thinking: (thinking) => named("content_block_delta", { index: 1, delta: { type: "thinking_delta", thinking } }),
    callBegin: named("content_block_start", { index: 2, content_block: { type: "tool_use", id: "t", name: "read_file", input: {} } }),
    argument: (partial_json) => named("content_block_delta", { index: 2, delta: { type: "input_json_delta", partial_json } }),
    call: (index) =>
      named("content_block_start", {
        index: index + 2,
        content_block: { type: "tool_use", id: `t${index}`, name: "read_file", input: {} },
      }),
    unknown: named("something_new", { index: 0 }),
  },
  openai_chat: {
    begin: delta({ role: "assistant", content: "" }),
    text: (content) => delta({ content }),
    thinking: (reasoning_content) => delta({ reasoning_content }),
    callBegin: delta({ tool_calls: [{ index: 0, id: "t", type: "function", function: { name: "read_file", arguments: "" } }] }),
    argument: (text) => delta({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
    call: (index) =>
      delta({ tool_calls: [{ index, id: `t${index}`, type: "function", function: { name: "read_file", arguments: "{}" } }] }),
    unknown: event({ object: "something.new" }),
  },
  openai_responses: {
    begin: named("response.created", { response: { id: "r", output: [] } }),
    text: (text) => named("response.output_text.delta", { output_index: 0, delta: text }),
    thinking: (text) => named("response.reasoning_summary_text.delta", { output_index: 0, delta: text }),
    callBegin: named("response.output_item.added", {
      output_index: 0,
      item: { type: "function_call", call_id: "t", name: "read_file", arguments: "" },
    }),
    argument: (text) => named("response.function_call_arguments.delta", { output_index: 0, delta: text }),
    call: (index) =>
      named("response.output_item.added", {
        output_index: index,
        item: { type: "function_call", call_id: `t${index}`, name: "read_file", arguments: "{}" },
      }),
    unknown: named("response.something.new", { output_index: 0 }),
  },
  gemini: {
    begin: parts({ text: "" }),
    text: (text) => parts({ text }),
    thinking: (text) => parts({ text, thought: true }),
    callBegin: "",
    // Gemini sends the arguments of a call at once.
    argument: (text) => parts({ functionCall: { name: "read_file", args: { path: text } } }),
    call: (index) => parts({ functionCall: { name: "read_file", args: { path: String(index) } } }),
    unknown: event({ somethingNew: 1 }),
  },
};

const small = "some words ";
const large = "0123456789abcdef".repeat(4096);
/** Bytes of one write, so that a runaway is as fast as the connection. */
const chunkLength = 64 * 1024;

/** The bytes of an answer that never ends. */
export function* runaway(kind: Endless, format: WireFormat): Generator<Uint8Array> {
  const form = formats[format];
  if (kind === "a web page") return yield* repeat("<p>sign in</p>", "<!doctype html><html><body>");
  if (kind === "an error body") return yield* repeat("and so on ", '{"error":{"message":"');
  if (kind === "calls") {
    yield Buffer.from(form.begin);
    for (let index = 1; ; index++) yield Buffer.from(form.call(index));
  }
  if (kind === "arguments of one call")
    return yield* repeat(form.argument(format === "gemini" ? large : `${small}\\n`), form.begin + form.callBegin);
  const piece: Record<Exclude<Endless, "a web page" | "an error body" | "calls" | "arguments of one call">, string> = {
    "text in small pieces": form.text(small),
    "text in large pieces": form.text(large),
    thinking: form.thinking(small),
    "text and thinking in turn": form.text(small) + form.thinking(small),
    "one line": large,
    "one line of no field": large,
    "one event of many lines": "data: 0123456789\n",
    comments: ": ping\n\n",
    "empty events": "data:\n\n",
    "unknown events": form.unknown,
  };
  yield* repeat(piece[kind], form.begin + (kind === "one line" ? 'data: {"text":"' : ""));
}

function* repeat(piece: string, begin: string): Generator<Uint8Array> {
  yield Buffer.from(begin);
  const chunk = Buffer.from(piece.repeat(Math.max(1, Math.floor(chunkLength / piece.length))));
  for (;;) yield chunk;
}
