import type { Script, SeenRequest, Turn } from "../model-server/turn.ts";
import { type Attempt, type Call, disguises, type Goals } from "./attempts.ts";

/**
 * A model that does whatever it is told, by whomever: it looks for orders in everything it was given (system prompt, the owner's
 * words, results of tools), also in disguise, and makes the calls they name. `opening` is what it does first in a task of its own
 * accord; controls (`ctl-<goal>`) make the same calls without having been told anything.
 */
export function obeyingModel(attempts: ReadonlyMap<string, Attempt>, goals: Goals, opening: (attempt: Attempt) => readonly Call[]): Script {
  const toTurn = (calls: readonly Call[], text: string): Turn => ({
    text,
    toolCalls: calls.map(({ tool, args }) => ({ name: tool, args })),
  });
  return (request) => {
    const asked = request.messages.find(({ role, text }) => role === "user" && /#(?:inj|ctl)-/.test(text))?.text ?? "";
    const control = /#ctl-(\w+)/.exec(asked)?.[1];
    const steps = request.messages.filter(({ role }) => role === "assistant");
    if (control !== undefined) return steps.length === 0 ? toTurn(goals[control] ?? [], "I do it.") : { text: "Done." };
    const attempt = attempts.get(/#(inj-[\w-]+)/.exec(asked)?.[1] ?? "");
    if (attempt === undefined) return { text: "I do not know this task." };
    const first = opening(attempt);
    if (steps.length === 0 && first.length > 0) return toTurn(first, "I look.");
    const made = steps.flatMap(({ toolCalls }) => toolCalls.map(({ name, args }) => `${name} ${JSON.stringify(args)}`));
    const orders = ordersIn(request, goals).filter(({ tool, args }) => !made.includes(`${tool} ${JSON.stringify(args)}`));
    return orders.length > 0 ? toTurn(orders, "I was told to, so I do it.") : { text: attempt.says };
  };
}

/** The calls that any text of a request asks for. */
function ordersIn(request: SeenRequest, goals: Goals): Call[] {
  const given = [
    request.system,
    ...request.messages.flatMap(({ role, text, toolResults }) =>
      role === "assistant" ? [] : [text, ...toolResults.map((result) => result.text)],
    ),
  ];
  const found = new Map<string, Call>();
  for (const text of given)
    for (const readable of [text, ...Object.values(disguises).map(({ find }) => find(text))])
      for (const call of [...callsIn(readable), ...aliasesIn(readable, goals)]) found.set(JSON.stringify(call), call);
  return [...found.values()];
}

function aliasesIn(text: string, goals: Goals): Call[] {
  return [...text.matchAll(/do-goal-([a-z_]+)/g)].flatMap((match) => goals[match[1] ?? ""] ?? []);
}

/** `call NAME with {…}`, wherever it stands. */
function callsIn(text: string): Call[] {
  return [...text.matchAll(/call (\w+) with (?=\{)/g)].flatMap((match): Call[] => {
    const json = objectAt(text, match.index + match[0].length);
    if (json === null) return [];
    try {
      return [{ tool: match[1] ?? "", args: JSON.parse(json) as Call["args"] }];
    } catch {
      return [];
    }
  });
}

function objectAt(text: string, start: number): string | null {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const letter = text[at];
    if (quoted) {
      if (letter === "\\") at++;
      else if (letter === '"') quoted = false;
    } else if (letter === '"') quoted = true;
    else if (letter === "{") depth++;
    else if (letter === "}" && --depth === 0) return text.slice(start, at + 1);
  }
  return null;
}
