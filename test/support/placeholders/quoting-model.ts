import type { Script, SeenRequest, Turn } from "../model-server/turn.ts";
import { transform } from "./transforms.ts";

/** The owner's words of an exchange, and what the model says when it is done. */
export const asks = (number: number, path: string): string => `Exchange ${String(number)}: tidy ${path}`;
export const saysDone = (number: number, value: string): string =>
  `Done with ${String(number)}.\n\n> ${value}\n\n| what | value |\n|---|---|\n| now | \`${value}\` |\n\n\`\`\`\n${value}\n\`\`\``;

/** Words a model was given, as it might write them: in small letters, escaped for Markdown, with a dash. */
const spellings: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => value.toLowerCase(),
  (value) => value.replaceAll("_", String.raw`\_`),
  (value) => value.replaceAll("_", "-"),
  (value) => value.replaceAll("_", "%5F"),
];
const isPlaceholder = /^[A-Z]+_\w{9}$/;

/** The file's lines as the tool showed them, without their numbers. */
function linesIn(result: string): string[] {
  return result.split("\n").flatMap((line) => /^\d+\t(.*)$/.exec(line)?.[1] ?? []);
}

/** Reads the file, does its work by what it was shown, and quotes it. Which step it is follows from the conversation. */
export const quotingModel: Script = (request: SeenRequest): Turn => {
  const { messages } = request;
  const asked = messages.findLastIndex(({ role, text }) => role === "user" && /Exchange \d+: tidy \S+/.test(text));
  const [, digits = "0", path = ""] = /Exchange (\d+): tidy (\S+)/.exec(messages[asked]?.text ?? "") ?? [];
  const number = Number(digits);
  const since = messages.slice(asked + 1);
  const steps = since.filter(({ role }) => role === "assistant").length;
  const pace = number % 4 === 0 ? { chunkBytes: 61 } : {};
  if (steps === 0) return { ...pace, text: `I read ${path} first.`, toolCalls: [{ name: "read_file", args: { path } }] };
  const result = since.flatMap(({ toolResults }) => toolResults)[0]?.text ?? "";
  const spell = (value: string): string => (isPlaceholder.test(value) ? (spellings[number % spellings.length]?.(value) ?? value) : value);
  const step = transform(number, path, linesIn(result), spell);
  if (steps === 1) return { ...pace, thinking: `It holds ${step.value}.`, toolCalls: step.calls.map(({ name, args }) => ({ name, args })) };
  return { ...pace, text: saysDone(number, step.value) };
};
