import type { Message, UnbackedClaim } from "../contract/chat.ts";
import type { Mode } from "../contract/governance.ts";
import { type AnswerEvidence, notice, type Run, type TurnDeps } from "../quests/quests.ts";

const announcementPrompt =
  "[Your answer announced work and ended without doing it. Nothing runs after your answer. Do the work now with the tools, or say plainly what was done and what is missing.]";
/** Part of the prompt by which it is found again. */
const announcementMark = "announced work and ended without doing it";

const reasons: Record<UnbackedClaim["reason"], string> = {
  not_recorded: "nothing of the kind is recorded",
  rejected: "you rejected the change",
  undone: "the change was undone",
  denied: "the action was not permitted or failed",
  failed: "it failed when it last ran",
  numbers_differ: "the recorded numbers differ",
  outdated: "a file was changed after the last run",
};

type Deps = Pick<TurnDeps, "store" | "ledger" | "changes" | "checkClaims">;

/**
 * Checks a final answer against what is recorded (requirement A8). The answer stays as it is. What it claims and nothing backs is named
 * below it. An answer that only announces work goes back to the model once, and is then called what it is. Each correction is a receipt.
 */
export function checkAnswer(
  deps: Deps,
  run: Run,
  message: Message,
  { turnId, small, mode }: { readonly turnId: string; readonly small: boolean; readonly mode: Mode },
): void {
  const { store, checkClaims } = deps;
  const answer = textOf(message);
  if (checkClaims === null || answer.trim() === "") return;
  const stored = store.messages(run.questId);
  const messages = stored.map((one) => (one.message.id === message.id ? message : one.message));
  const record = (actionName: string, outputs: Record<string, unknown>): void => {
    const { questId } = run;
    deps.ledger.record(
      { actionType: "verification", actionName, inputs: {}, riskTier: "T0", questId, parentId: turnId },
      { status: "failure", outputs },
    );
  };

  const announced = mode === "plan" || hasRunningCommand(messages) ? null : checkClaims.announcement(answer);
  if (announced !== null) {
    const request = messages.findLast(({ role, parts }) => role === "user" && parts.some(({ type }) => type === "text"))?.seq ?? -1;
    const wasReturned = stored.some(
      ({ turn, message: { seq } }) => seq > request && turn?.kind === "user" && JSON.stringify(turn.content).includes(announcementMark),
    );
    if (!small && !wasReturned) {
      record("governor.announcement-returned", { text: announced });
      store.addMessage({
        questId: run.questId,
        role: "user",
        parts: [notice("info", "The answer announced work without doing it. Lancelot asked the model to do it or to say what is missing.")],
        turn: { kind: "user", content: [{ type: "text", text: announcementPrompt }] },
      });
      return;
    }
    record("governor.nothing-done", { text: announced });
    const claims: UnbackedClaim[] = [{ kind: "announcement", text: announced, reason: "not_recorded" }];
    message.parts.push({ ...notice("warning", nothingDone(messages, request)), claims });
    store.saveMessage(message);
  }

  const evidence: AnswerEvidence = {
    questId: run.questId,
    messages,
    changes: deps.changes.list({ questId: run.questId, limit: 500 }),
  };
  const claims = checkClaims.unbacked(answer, evidence);
  if (claims.length === 0) return;
  record("claims.checked", { claims });
  const list = claims.map(({ text, reason }) => `- “${text}”: ${reasons[reason]}`);
  message.parts.push({ ...notice("warning", `Not backed by what Lancelot recorded:\n${list.join("\n")}`), claims });
  store.saveMessage(message);
}

/** Announcements are true while a background command of the task runs. */
function hasRunningCommand(messages: readonly Message[]): boolean {
  return messages.some(({ parts }) =>
    parts.some((part) => part.type === "tool" && part.command?.background !== undefined && part.command.ended === null),
  );
}

function nothingDone(messages: readonly Message[], request: number): string {
  const done = messages.flatMap(({ seq, parts }) =>
    seq > request ? parts.flatMap((part) => (part.type === "tool" && part.status === "success" ? [part.title] : [])) : [],
  );
  if (done.length === 0) return "Nothing was done. No action is recorded for this request.";
  const more = done.length > 5 ? ` and ${String(done.length - 5)} more` : "";
  return `Nothing more was done. Recorded for this request: ${done.slice(0, 5).join("; ")}${more}.`;
}

function textOf({ parts }: Message): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
