// The model of the played tasks: it answers what each part of the orchestrator asks of it, and does as the prompt says.
import { isRecord, text, type Script, type SeenRequest, type Turn } from "../model-server/turn.ts";
import { announcement, type PlayedTask } from "./played-tasks.ts";

/** What a call is for. */
export type CallKind = "intent" | "reasoning" | "verdicts" | "plan" | "work";

export function kindOf(request: SeenRequest): CallKind {
  const format = request.raw["response_format"];
  const told = isRecord(format) && isRecord(format["json_schema"]) ? text(format["json_schema"]["name"]) : "";
  if (told === "intent" || told === "reasoning" || told === "verdicts") return told;
  return offers(request, "propose_plan") ? "plan" : "work";
}

export function offers({ tools }: Pick<SeenRequest, "tools">, name: string): boolean {
  return tools.some((tool) => tool.name === name);
}

/** Plays the tasks, which it knows by their requests. */
export function playTasks(tasks: () => readonly PlayedTask[]): Script {
  return (request) => {
    const kind = kindOf(request);
    if (kind === "verdicts") return verdicts(request);
    const all = request.messages.map(({ text: said }) => said).join("\n");
    const task = tasks().find((one) => all.includes(one.request));
    if (task === undefined) throw new Error(`nobody sent this: ${all.slice(-300)}`);
    switch (kind) {
      case "intent":
        return { text: JSON.stringify({ ...task.told, sure: true }) };
      case "reasoning":
        return { thinking: "What could go wrong here?", text: JSON.stringify(thoughtOf(task)) };
      case "plan":
        return readsFirst(task, calledIn(request.messages)) ?? { toolCalls: [{ name: "propose_plan", args: planOf(task) }] };
      case "work":
        return work(task, request);
    }
  };
}

function verdicts({ messages }: SeenRequest): Turn {
  const data: unknown = JSON.parse(messages.at(-1)?.text ?? "{}");
  const criteria = isRecord(data) && Array.isArray(data["criteria"]) ? data["criteria"] : [];
  return { text: JSON.stringify({ results: criteria.map(() => ({ met: true, why: "The text of the file shows it." })) }) };
}

function thoughtOf(task: PlayedTask) {
  return {
    strategy: task.writes.map(({ path }, index) => `${String(index + 1)}. Write ${path}.`).join("\n") || "Answer from the file.",
    risks: ["A second run could apply it twice."],
    gaps: [],
  };
}

function planOf({ request, writes, judged }: PlayedTask) {
  const steps = writes.map(({ path }, index) => ({
    title: `Write ${path}`,
    doneWhen: [`\`${path}\` exists`, ...(index === 0 && judged !== undefined ? [judged] : [])],
    actions: [{ tool: "write_file", target: path }],
  }));
  return { goal: request.split("\n")[0], context: "The folder holds one file.", steps, doneWhen: [`\`${writes[0]?.path ?? ""}\` exists`] };
}

/** The next turn of the work, by what was done since the request or the current step. */
function work(task: PlayedTask, { messages, tools }: SeenRequest): Turn {
  const step = messages.findLastIndex(({ role, text: said }) => role === "user" && said.includes("of the approved plan: "));
  const from = step < 0 ? messages.findLastIndex(({ role, text: said }) => role === "user" && said.includes(task.request)) : step;
  const since = messages.slice(from + 1);
  const called = calledIn(since);
  const title = /of the approved plan: (.*)/.exec(messages[step]?.text ?? "")?.[1];
  if (title !== undefined) {
    const wanted = task.writes.find(({ path }) => title.includes(path));
    return wanted === undefined || called.has(`write_file ${wanted.path}`) ? { text: "This step is done." } : write(wanted);
  }
  const said = since.filter(({ role }) => role === "assistant").map((message) => message.text);
  if (task.announces !== undefined && !said.some((one) => one.includes(announcement))) return { text: task.announces };
  const read = readsFirst(task, called);
  if (read !== null) return read;
  const next = task.writes.find(({ path }) => !called.has(`write_file ${path}`));
  if (next !== undefined) return write(next);
  if (said.some((one) => one.includes(task.answer))) return { text: "I keep to what you accepted." };
  return answer(task, tools);
}

/** The tools that were called, with their paths. */
function calledIn(messages: SeenRequest["messages"]): Set<string> {
  return new Set(messages.flatMap(({ toolCalls }) => toolCalls.map(({ name, args }) => `${name} ${pathIn(args)}`)));
}

function readsFirst({ reads: path }: PlayedTask, called: ReadonlySet<string>): Turn | null {
  if (path === undefined || called.has(`read_file ${path}`)) return null;
  return { toolCalls: [{ name: "read_file", args: { path } }] };
}

const write = (args: { path: string; content: string }): Turn => ({ toolCalls: [{ name: "write_file", args }] });

function pathIn(args: unknown): string {
  return isRecord(args) ? text(args["path"]) : "";
}

/** Reports work where the tool for it is offered, as its description says; a question is answered in text. */
function answer({ writes, claims, answer: said }: PlayedTask, tools: SeenRequest["tools"]): Turn {
  const actionsTaken = [...writes.map(({ path }) => ({ action: "wrote", target: path })), ...claims];
  if (actionsTaken.length === 0 || !offers({ tools }, "report_outcome")) return { text: said };
  return { toolCalls: [{ name: "report_outcome", args: { responseToUser: said, actionsTaken } }] };
}
