import type { SeenRequest, Turn } from "../model-server/turn.ts";
import { edits } from "./two-file-change.ts";

/** What the played model does with the sample project: runs its failing tests, mends the cause, runs them again, and says what they said. */
export const mendingTask = "The tests fail. Find out why, fix it, and show that they pass.";
export const testCommand = "node --test";
export const mended = { before: "The tests fail:", after: "The tests pass now:", stuck: "I could not run the tests:" } as const;

/** The script for the model server; which turn it is follows from the results in the conversation. */
export function mendingScript(): (request: SeenRequest) => Turn {
  return ({ messages }) => {
    const results = messages.flatMap(({ toolResults }) => toolResults);
    const runs = messages.flatMap(({ toolCalls }) => toolCalls).filter(({ name }) => name === "run_command");
    /** From the line that says how it ended. */
    const resultOf = (id: string | undefined) => (results.find((result) => result.id === id)?.text ?? "").replace(/^\[data [^\n]*\n/, "");
    const [first, second] = runs.map(({ id }) => resultOf(id));
    const edited = messages.some(({ toolCalls }) => toolCalls.some(({ name }) => name === "edit_file"));
    const run = { name: "run_command", args: { command: testCommand } };
    if (first === undefined) return { text: "I run the tests first.", toolCalls: [run] };
    if (!/^Exit code 1\b/.test(first)) return { text: `${mended.stuck} ${first.slice(0, 600)}` };
    if (!edited) return { text: `${mended.before} ${first.slice(0, 80)}`, toolCalls: [{ name: "edit_file", args: edits[1] }] };
    if (second === undefined) return { toolCalls: [run] };
    return { text: `${/^Exit code 0\b/.test(second) ? mended.after : mended.before} ${second.slice(0, 80)}` };
  };
}
