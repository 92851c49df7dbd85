import type { Approval, ApprovalDecision } from "../contract/governance.ts";
import type { Change } from "../contract/changes.ts";
import type { Quest } from "../contract/chat.ts";
import type { Tier } from "../contract/common.ts";
import { LancelotError } from "../contract/errors.ts";
import { shortenMiddle } from "../contract/visible-text.ts";
import { downloadLocal, megabytes } from "./models.ts";
import { type Output, out, paint, terminal } from "./output.ts";
import { createPrompts, type Prompts } from "./prompts.ts";
import { changeText, createRenderer } from "./render.ts";
import { openSession, type Session } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

const ended: ReadonlySet<Quest["status"]> = new Set(["done", "failed", "cancelled", "interrupted"]);
/** An edit of a workspace file is T1 (governance.md). */
const editTier: Tier = "T1";

/** `lancelot chat "task"`: runs one quest in the terminal, with its approvals and reviews. */
export async function chat(line: CommandLine): Promise<number> {
  const text = line.words.join(" ").trim();
  if (text === "")
    throw new LancelotError("invalid_params", 'Enter a task, for example: lancelot chat "find out why the test fails and fix it"');
  const prompts = createPrompts(!line.json && terminal.isInteractive);
  const session = await openSession(line, line.workspace, true);
  try {
    await ensureModel(session, line, prompts);
    return await runQuest(session, line, prompts, text);
  } finally {
    prompts.close();
    await session.close();
  }
}

/** Offers to download the local model when no model is ready. @throws LancelotError `unavailable` with the next step. */
async function ensureModel(session: Session, line: CommandLine, prompts: Prompts): Promise<void> {
  if (await session.host.hasModel()) return;
  const { degradedReasons } = await session.call("health.ready", {});
  const local = await session.call("models.local", {});
  const offer = `${local.name} (${local.license}, ${megabytes(local.totalBytes - local.doneBytes)} MB)`;
  if (
    line.download ||
    (prompts.present &&
      (await prompts.choose(`No API key is set. Download ${offer}, which runs on this machine? [y/n] `, ["y", "n"])) === "y")
  ) {
    await downloadLocal(session);
    return;
  }
  throw new LancelotError(
    "unavailable",
    `${degradedReasons.join(" ")}\nSet an API key (lancelot key set ANTHROPIC_API_KEY), or download the local model: lancelot models download (${offer}).`,
    {
      data: { what: "model", nextStep: "lancelot models download" },
    },
  );
}

async function runQuest(session: Session, line: CommandLine, prompts: Prompts, text: string): Promise<number> {
  let questId: string | null = null;
  const renderer = createRenderer(() => questId, out);
  const end = Promise.withResolvers<Quest>();
  const handled = new Set<string>();
  const early: Parameters<typeof renderer.handle>[0][] = [];

  const onEvent = (event: Parameters<typeof renderer.handle>[0]) => {
    if (questId === null) {
      early.push(event);
      return;
    }
    if (line.json) out.json(event);
    else renderer.handle(event);
    if (
      event.topic === "approval" &&
      event.payload.status === "pending" &&
      event.payload.questId === questId &&
      !handled.has(event.payload.id)
    ) {
      handled.add(event.payload.id);
      void answerApproval(session, line, prompts, out, event.payload).catch(end.reject);
    }
    if (event.topic !== "quest" || event.payload.id !== questId) return;
    const waiting = event.payload.waitingFor;
    if (ended.has(event.payload.status)) end.resolve(event.payload);
    else if (waiting?.kind === "review")
      void once(`review:${event.payload.updatedAt}`, () => review(session, line, prompts, out, waiting.id)).catch(end.reject);
    else if (waiting?.kind === "answer")
      void once(`answer:${waiting.id}`, () => answerQuestion(session, prompts, out, event.payload)).catch(end.reject);
  };
  const once = async (key: string, work: () => Promise<void>) => {
    if (handled.has(key)) return;
    handled.add(key);
    await work();
  };

  const stop = session.events.listen(onEvent);
  const onInterrupt = () => {
    if (questId === null) process.exit(130);
    out.line("Stopping the task. Press Ctrl+C again to exit at once.");
    process.once("SIGINT", () => process.exit(130));
    void session.call("chat.cancel", { questId }).catch(end.reject);
  };
  process.once("SIGINT", onInterrupt);
  try {
    const sent = await session.call("chat.send", { text, ...(line.questId === undefined ? {} : { questId: line.questId }) });
    questId = sent.questId;
    for (const event of early) onEvent(event);
    const quest = await end.promise;
    if (!line.json) {
      const { inputTokens, outputTokens } = quest.usage;
      out.line(`\n${quest.status}: quest ${quest.id}, ${quest.model ?? "no model"}, ${inputTokens + outputTokens} tokens`);
    }
    return quest.status === "done" ? 0 : quest.status === "cancelled" ? 130 : 1;
  } finally {
    process.removeListener("SIGINT", onInterrupt);
    stop();
  }
}

function covers(line: CommandLine, tier: Tier): boolean {
  return line.yesTier !== null && tier <= line.yesTier;
}

function hiddenText(lines: number, characters: number): string {
  return `⟨${lines.toLocaleString("en-US")} lines with ${characters.toLocaleString("en-US")} characters are hidden here⟩`;
}

/** Decides an approval: by `--yes-tier`, by asking at the terminal, or by denying it without a terminal. */
export async function answerApproval(
  session: Session,
  line: CommandLine,
  prompts: Prompts,
  to: Pick<Output, "line">,
  approval: Approval,
): Promise<void> {
  const decide = async (decision: ApprovalDecision, reason?: string | null): Promise<void> => {
    try {
      await session.call("approvals.decide", { id: approval.id, decision, ...(reason ? { reason } : {}) });
    } catch (error) {
      // Another window answered, or it expired. The task continues with that answer.
      if (!(error instanceof LancelotError) || error.code !== "conflict") throw error;
      to.line(error.message);
    }
  };
  /** Denies without asking the owner, who is asked again when the task continues in another client. */
  const denyUnasked = async (reason: string): Promise<void> => {
    await decide("deny", reason);
    try {
      await session.call("approvals.askAgain", { id: approval.id });
    } catch (error) {
      if (!(error instanceof LancelotError) || error.code !== "conflict") throw error;
    }
  };
  if (!approval.channels.includes("terminal")) {
    const reason = `The soul does not allow approvals in the terminal (approval_rules.channels: ${approval.channels.join(", ")}).`;
    to.line(
      `\nDenied: ${approval.title}  [${approval.tier}]\n${reason} Answer it in VS Code, or add terminal to approval_rules.channels in the soul.`,
    );
    return denyUnasked(reason);
  }
  if (covers(line, approval.tier)) return decide("allow_once");
  if (!prompts.present) return denyUnasked(`No terminal is attached to ask you, and --yes-tier does not cover ${approval.tier}.`);
  const detail = shortenMiddle(approval.detail, hiddenText);
  to.line(`\n${approval.title}  [${approval.tier}]\n${detail}\n${approval.rules.map((rule) => `  ${rule.message}`).join("\n")}`);
  const ask = (more: string): Promise<"o" | "t" | "d" | "s" | null> =>
    prompts.choose(`Allow [o]nce, for this [t]ask, or [d]eny${more}? `, ["o", "t", "d", "s"]);
  let answer = await ask(detail === approval.detail ? "" : "; [s]how everything");
  while (answer === "s") {
    to.line(approval.detail);
    answer = await ask("");
  }
  const reason = answer === "d" ? await prompts.ask("Reason (optional): ") : null;
  return decide(answer === "o" ? "allow_once" : answer === "t" ? "allow_quest" : "deny", reason);
}

/**
 * Shows the diff of each undecided change, then asks. Nothing is written before the answer. A change that cannot be written stays proposed,
 * and the others are decided first.
 * @throws LancelotError `conflict` with the files that could not be written.
 */
async function review(session: Session, line: CommandLine, prompts: Prompts, to: Pick<Output, "line">, questId: string): Promise<void> {
  const { items } = await session.call("changes.list", { questId, open: true });
  const failed: string[] = [];
  const decide = async (change: Change, decision: "accept" | "reject", hunks?: number[]): Promise<void> => {
    const problem = await session
      .call("changes.decide", { id: change.id, decision, ...(hunks === undefined ? {} : { hunks }) })
      .then((decided) => decided.problem)
      .catch((error: unknown) => {
        if (error instanceof LancelotError && error.code !== "cancelled") return error.message;
        throw error;
      });
    if (problem === null) return;
    to.line(paint("red", "Not written: "), problem);
    if (!failed.includes(change.path)) failed.push(change.path);
  };
  for (const change of items.toReversed()) {
    to.line("\n", ...changeText(change));
    if (covers(line, editTier)) await decide(change, "accept");
    else if (!prompts.present) {
      to.line(`Not written: no terminal is attached to ask you, and --yes-tier ${editTier} was not given.`);
      await decide(change, "reject");
    } else await askChange(decide, prompts, to, change);
  }
  if (failed.length > 0)
    throw new LancelotError(
      "conflict",
      `${failed.length} of ${items.length} changed files could not be written: ${failed.join(", ")}. Their edits are still proposed. Fix the cause, then continue: lancelot chat --quest ${questId} "continue"`,
    );
}

async function askChange(
  decide: (change: Change, decision: "accept" | "reject", hunks?: number[]) => Promise<void>,
  prompts: Prompts,
  to: Pick<Output, "line">,
  change: Change,
): Promise<void> {
  const open = change.hunks.filter((hunk) => hunk.state === "pending");
  const answer = await prompts.choose(`Write ${change.path}? [y]es, [n]o${open.length > 1 ? ", [h]unk by hunk" : ""}: `, ["y", "n", "h"]);
  if (answer !== "h") return decide(change, answer === "y" ? "accept" : "reject");
  for (const hunk of open) {
    to.line(...changeText(change, hunk.index));
    const each = await prompts.choose(`Write hunk ${hunk.index + 1}? [y/n] `, ["y", "n"]);
    await decide(change, each === "y" ? "accept" : "reject", [hunk.index]);
  }
}

async function answerQuestion(session: Session, prompts: Prompts, to: Pick<Output, "line">, quest: Quest): Promise<void> {
  const waiting = quest.waitingFor;
  if (waiting === null) return;
  const options = waiting.options?.map((option, index) => `  ${index + 1}. ${option}`).join("\n");
  to.line(`\n${waiting.question ?? "Lancelot has a question."}${options ? `\n${options}` : ""}`);
  const typed = await prompts.ask("> ");
  const chosen = waiting.options?.[Number(typed) - 1] ?? typed;
  await session.call("chat.answer", {
    questId: quest.id,
    callId: waiting.id,
    answer: chosen || "The user cannot answer, because no terminal is attached. Decide yourself, or say what you need.",
  });
}
