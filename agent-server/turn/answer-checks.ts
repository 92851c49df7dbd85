import type { Message, ToolPart } from "../contract/chat.ts";
import type { Ledger } from "../receipts/receipts.ts";
import { notice, type QuestStore, type Run } from "../quests/quests.ts";
import { admitsFailure } from "./failure-admission.ts";

/** The tone invariants of the soul. */
export interface Tone {
  /** The answer must mention failed and denied steps. */
  readonly noSilentFailure: boolean;
  /** Research must cite URLs. */
  readonly sourcesRequired: boolean;
}

const sourcesPrompt =
  "[The user's soul does not accept research without sources. Repeat the answer with the URL (https://…) of the source next to each finding, and omit findings without one. If you have no sources, say so plainly.]";

/**
 * Checks a final answer against the tone invariants of the soul, by the tool calls and not by the claims of the model. Appends the
 * failures that the answer omits. Returns research without URLs to the model once, and marks it as unverified if they are still
 * missing. Each correction is a receipt. An answer in a language that `admitsFailure` does not cover may get a redundant notice, but the
 * answer itself is never changed. @returns true when the answer went back to the model
 */
export function enforceTone(deps: { store: QuestStore; ledger: Ledger }, run: Run, message: Message, tone: Tone, turnId: string): boolean {
  const { store, ledger } = deps;
  const stored = store.messages(run.questId);
  const request = stored.findLast(({ message: { role, parts } }) => role === "user" && parts.some(({ type }) => type === "text"));
  const since = stored.filter(({ message: { seq } }) => seq > (request?.message.seq ?? -1)).map((one) => one.message);
  const answer = textOf(message);
  if (answer.trim() === "") return false;

  const unmentioned = tone.noSilentFailure ? unmentionedFailures(since, answer) : [];
  if (unmentioned.length > 0) {
    const list = unmentioned.map((part) => `${part.title} (${part.status === "denied" ? "not permitted" : "failed"})`);
    message.parts.push(notice("warning", `Not mentioned in the answer: ${list.join("; ")}.`));
    store.saveMessage(message);
    record("silent-failure", { steps: list });
  }

  if (
    !tone.sourcesRequired ||
    request === undefined ||
    !isResearch(textOf(request.message), since) ||
    /https?:\/\/[^\s)>\]]{4,}/.test(answer)
  )
    return false;
  const wasReturned = stored.some(
    ({ turn, message: { seq } }) =>
      seq > request.message.seq && turn?.kind === "user" && JSON.stringify(turn.content).includes("does not accept research"),
  );
  if (wasReturned) {
    message.parts.push(notice("warning", "This answer cites no sources. Treat it as unverified."));
    store.saveMessage(message);
    record("unsourced", {});
    return false;
  }
  record("sources-asked", {});
  store.addMessage({
    questId: run.questId,
    role: "user",
    parts: [notice("info", "The answer cited no sources. Lancelot asked the model to add them.")],
    turn: { kind: "user", content: [{ type: "text", text: sourcesPrompt }] },
  });
  return true;

  function record(what: string, outputs: Record<string, unknown>): void {
    ledger.record(
      { actionType: "verification", actionName: `tone.${what}`, inputs: {}, riskTier: "T0", questId: run.questId, parentId: turnId },
      { status: "failure", outputs },
    );
  }
}

/** Denied and failed calls, except reads, that no later call on the same subject repaired and that the answer does not mention. */
function unmentionedFailures(messages: readonly Message[], answer: string): ToolPart[] {
  const calls = messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  const left = calls.filter(
    (part, index) =>
      (part.status === "denied" || (part.status === "failure" && part.tier !== "T0")) &&
      !calls
        .slice(index + 1)
        .some((later) => later.status === "success" && later.tool === part.tool && subjectOf(later) === subjectOf(part)),
  );
  const steps = left.map((part) => ({ title: part.title, subject: subjectOf(part) }));
  return left.length === 0 || admitsFailure(answer, steps) ? [] : left.slice(0, 5);
}

/** The subject of a call: its path, command or URL, else all of its arguments. */
function subjectOf({ args }: ToolPart): string {
  for (const name of ["path", "command", "url", "name"]) {
    const value = args[name];
    if (typeof value === "string") return value;
  }
  return JSON.stringify(args);
}

const researchWords =
  /\b(?:research|competitors?|market|vendors?|state of the art|find (?:out )?(?:sources|articles|papers)|latest (?:version|release|news)|what do (?:people|others) say|compare .* (?:products|services|libraries|frameworks))\b/i;

/** True for a request whose wording asks for research without edits, or whose answer used the web. */
function isResearch(request: string, messages: readonly Message[]): boolean {
  const calls = messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  if (calls.some(({ tool }) => webTools.has(tool))) return true;
  return researchWords.test(request) && !calls.some(({ tool }) => tool.startsWith("edit_") || tool.startsWith("write_"));
}

const webTools: ReadonlySet<string> = new Set(["fetch_url", "github_search", "download"]);

function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
