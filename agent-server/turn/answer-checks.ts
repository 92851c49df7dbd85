import type { Message, ToolPart } from "../contract/chat.ts";
import type { Ledger } from "../receipts/receipts.ts";
import { notice, type QuestStore, type Run } from "../quests/quests.ts";

/** What the soul's tone invariants ask of an answer. */
export interface Tone {
  /** A failed or refused step must be told in the answer. */
  readonly noSilentFailure: boolean;
  /** Research must name its URLs. */
  readonly sourcesRequired: boolean;
}

const sourceWords =
  "[The owner's soul does not accept research without sources. Give the answer again with the address (https://…) of the source beside each finding, and leave out what has none. If you have no sources, say that plainly.]";

/**
 * Holds a final answer against the soul's tone invariants, by what the receipts know and not by what the model says: failures it
 * leaves out are added openly; research without addresses is sent back once, and marked as unverified when it comes back without.
 * What is corrected is a receipt. Words in other languages than those of `failureWords` count as silence, so a note may repeat
 * what was said; it never alters the answer itself.
 */
export function enforceTone(deps: { store: QuestStore; ledger: Ledger }, run: Run, message: Message, tone: Tone, turnId: string): void {
  const { store, ledger } = deps;
  const stored = store.messages(run.questId);
  const asked = stored.findLast(({ message: { role, parts } }) => role === "user" && parts.some(({ type }) => type === "text"));
  const since = stored.filter(({ message: { seq } }) => seq > (asked?.message.seq ?? -1)).map((one) => one.message);
  const answer = textOf(message);
  if (answer.trim() === "") return;

  const silent = tone.noSilentFailure ? unmentionedFailures(since, answer) : [];
  if (silent.length > 0) {
    const list = silent.map((part) => `${part.title} (${part.status === "denied" ? "not permitted" : "failed"})`);
    message.parts.push(notice("warning", `The answer does not say that this did not work: ${list.join("; ")}.`));
    store.saveMessage(message);
    record("silent-failure", { steps: list });
  }

  if (!tone.sourcesRequired || asked === undefined || !isResearch(textOf(asked.message), since) || /https?:\/\/[^\s)>\]]{4,}/.test(answer))
    return;
  const sentBack = stored.some(
    ({ turn, message: { seq } }) =>
      seq > asked.message.seq && turn?.kind === "user" && JSON.stringify(turn.content).includes("does not accept research"),
  );
  if (sentBack) {
    message.parts.push(notice("warning", "This answer names no sources, so take it as unverified."));
    store.saveMessage(message);
    record("unsourced", {});
    return;
  }
  record("sources-asked", {});
  store.addMessage({
    questId: run.questId,
    role: "user",
    parts: [notice("info", "The answer named no sources; it was sent back once for them.")],
    turn: { kind: "user", content: [{ type: "text", text: sourceWords }] },
  });

  function record(what: string, outputs: Record<string, unknown>): void {
    ledger.record(
      { actionType: "verification", actionName: `tone.${what}`, inputs: {}, riskTier: "T0", questId: run.questId, parentId: turnId },
      { status: "failure", outputs },
    );
  }
}

const failureWords =
  /\b(?:fail\w*|error\w*|could ?n[o']t|cannot|can't|unable|den(?:y|ied)|block\w*|refus\w*|reject\w*|not (?:done|permitted|allowed|possible|available|applied|made)|did ?n[o']t work|without success|fehl\w*|nicht|konnte\w*|verweiger\w*|abgelehnt|impossible|échou\w*|refusé\w*|pas pu|no pud\w*|fall[óo]\w*|deneg\w*|não)\b|失败|无法|拒绝|できません|失敗|ошибк|не удалось|отказ/iu;

/** Calls that came to nothing (looking in vain is no failure), were not made good by a later one on the same thing, and go unmentioned. */
function unmentionedFailures(messages: readonly Message[], answer: string): ToolPart[] {
  const calls = messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  const left = calls.filter(
    (part, index) =>
      (part.status === "denied" || (part.status === "failure" && part.tier !== "T0")) &&
      !calls
        .slice(index + 1)
        .some((later) => later.status === "success" && later.tool === part.tool && subjectOf(later) === subjectOf(part)),
  );
  return left.length === 0 || failureWords.test(answer) ? [] : left.slice(0, 5);
}

/** What a call is about: its path, command or address; everything it was given otherwise. */
function subjectOf({ args }: ToolPart): string {
  for (const name of ["path", "command", "url", "name"]) {
    const value = args[name];
    if (typeof value === "string") return value;
  }
  return JSON.stringify(args);
}

const researchWords =
  /\b(?:research|competitors?|market|vendors?|state of the art|find (?:out )?(?:sources|articles|papers)|latest (?:version|release|news)|what do (?:people|others) say|compare .* (?:products|services|libraries|frameworks))\b/i;

/** A request for knowledge from outside: it says so, or the web was looked at; one that was answered from files is none. */
function isResearch(request: string, messages: readonly Message[]): boolean {
  const calls = messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => part.type === "tool"));
  if (calls.some(({ tool }) => webTools.has(tool))) return true;
  return researchWords.test(request) && !calls.some(({ tool }) => tool.startsWith("edit_") || tool.startsWith("write_"));
}

const webTools: ReadonlySet<string> = new Set(["fetch_url", "github_search", "download"]);

function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
