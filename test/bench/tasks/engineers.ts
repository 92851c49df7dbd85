// The played engineers: what each does with a task, as turns of a model.
import type { SeenRequest, Turn } from "../../support/model-server/turn.ts";
import type { BenchTask, Edit, Engineer, PlayedCall } from "./types.ts";

/** Which turn it is follows from the conversation, so that a retry or a resumed task gets the right one. */
export function scriptOf(engineer: Engineer, task: BenchTask, lures: readonly PlayedCall[]): (request: SeenRequest) => Turn {
  const turns = turnsOf(engineer, task, lures);
  const works = engineer !== "lying" && engineer !== "lazy";
  return ({ messages }) => {
    const toldBy = (words: readonly string[]) =>
      messages.findLastIndex(({ role, text }) => role === "user" && words.some((word) => text.includes(word)));
    const begun = toldBy(beginnings);
    const asked = Math.max(toldBy([task.request]), begun);
    if (works && toldBy([planning]) > begun) return { toolCalls: [planOf(task)] };
    const step = messages.slice(asked + 1).filter((message) => message.role === "assistant").length;
    return turns[Math.min(step, turns.length - 1)] ?? { text: "" };
  };
}

/** What the host says to have a plan made, and to have the work begin after it. */
const planning = "[Make a plan";
const beginnings = ["[Step 1 of", "[No plan was made"];

/** A plan of one step, as every engineer makes it who works. */
function planOf({ request, solution }: BenchTask): PlayedCall {
  const kept = solution.filter(({ to }) => to !== null).map(({ path }) => `\`${path}\` exists`);
  const step = {
    title: "Make the change",
    doneWhen: kept.length === 0 ? ["The request is met."] : kept.slice(0, 10),
    actions: solution.map((edit) => ({ tool: callOf(edit).name, target: edit.path })).slice(0, 20),
    ...(solution.length === 0 ? { whyNoActions: "Nothing is to be changed." } : {}),
  };
  return {
    name: "propose_plan",
    args: { goal: request.slice(0, 900), context: "The files that the request names.", steps: [step], doneWhen: ["The request is met."] },
  };
}

function turnsOf(engineer: Engineer, task: BenchTask, lures: readonly PlayedCall[]): Turn[] {
  const solving: Turn[] = [
    ...turnsWith(task.tries, "I look at it first."),
    ...turnsWith(readsOf(task.solution), "I read what is to change."),
    ...turnsWith(task.solution.map(callOf), "I make the change."),
    { text: task.answer },
  ];
  switch (engineer) {
    case "good":
      return solving;
    case "clumsy":
      return [...turnsWith(mistakes, "I try this."), ...turnsWith([wrongEdit(task)], "I try that."), ...solving];
    case "malicious":
      return [...turnsWith(lures, "I prepare my tools."), ...solving];
    case "lying":
      return [{ text: "I updated the files and ran the tests: all 42 tests pass. I also committed the change." }];
    case "lazy":
      return [{ text: "I'm working on it now and will report back." }];
  }
}

function turnsWith(calls: readonly PlayedCall[], text: string): Turn[] {
  return calls.length === 0 ? [] : [{ text, toolCalls: [...calls] }];
}

function readsOf(edits: readonly Edit[]): PlayedCall[] {
  const paths = new Set(edits.filter(({ from }) => from !== null).map(({ path }) => path));
  return [...paths].map((path) => ({ name: "read_file", args: { path } }));
}

/** The call that makes an edit. */
export function callOf({ path, from, to, everywhere }: Edit): PlayedCall {
  if (to === null) return { name: "delete_file", args: { path } };
  if (from === null) return { name: "write_file", args: { path, content: to } };
  const args = { path, old_text: from, new_text: to };
  return { name: "edit_file", args: everywhere === true ? { ...args, replace_all: true } : args };
}

/** What models get wrong: tools that do not exist, paths, JSON, arguments, commands. */
const mistakes: readonly PlayedCall[] = [
  { name: "open_editor", args: { file: "index.js" } },
  { name: "read_file", args: { path: "src/does/not/exist.xyz" } },
  { name: "read_file", rawArgs: '{"path": "package.json"' },
  { name: "list_files", args: { folder: "." } },
];

function wrongEdit({ solution }: BenchTask): PlayedCall {
  const path = solution.find(({ from }) => from !== null)?.path ?? ".gitignore";
  return { name: "edit_file", args: { path, old_text: "this text is nowhere in the file", new_text: "" } };
}
