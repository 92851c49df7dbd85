import { LancelotError } from "../contract/errors.ts";
import type { Execution, JoinedChanges } from "../execution/execution.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { SubtaskReport, SubtaskRequest } from "../tools/tools.ts";
import type { ExternalMessages } from "./external-messages.ts";
import { titleOf } from "./quest-page.ts";
import type { createQuestRunner } from "./quest-runner.ts";
import type { Run, SubtaskRun } from "./quest-run.ts";
import type { QuestStore } from "./quest-store.ts";
import { maxQuestTokens } from "./stop-rules.ts";
import { describeJoined, describeLeft } from "./subtask-report.ts";
import type { SubtaskProgress } from "./subtask-progress.ts";
import { answerText, failedTests } from "./subtask-result.ts";
import type { Spawn } from "./turn-deps.ts";

interface Deps {
  readonly store: QuestStore;
  readonly runner: Pick<ReturnType<typeof createQuestRunner>, "claim" | "launch" | "end" | "runOf">;
  readonly changes: NonNullable<Execution["subtasks"]>;
  readonly governance: Pick<Governance, "commandNeeds">;
  readonly ledger: Pick<Ledger, "ready">;
  readonly redactorOf: (questId: string) => Redactor;
  readonly externalMessages: Pick<ExternalMessages, "add">;
  readonly progress: SubtaskProgress;
  readonly workspace: string;
  readonly log: Log;
}

type Ending = Parameters<SubtaskRun["ended"]>[0];

const preface =
  "[This is a sub-task of a larger task. Work on it alone and completely; nobody answers questions. You see the edits that the task proposed so far. Your edits are proposals that join the task when you end; commands run in your own copy of the workspace. An action that is denied is for the main task: name it in your answer. If tests failed, run the same command again until it passes, else your edits are not used. End with a short answer: what you did, how you checked it, what is left.]";

/** Runs sub-tasks: quests of their own, apart from their task until their proposals join its review (requirement A11). */
export function createSubtasks(deps: Deps): Spawn {
  const { store, runner, changes, log } = deps;

  function create(parent: Run, { goal, soulScope, context }: SubtaskRequest): { questId: string; messageId: string } {
    return store.transaction(() => {
      const questId = store.create({
        ...{ workspace: deps.workspace, tokenLimit: maxQuestTokens },
        // Crusader mode applies edits at once, and a sub-task only proposes.
        mode: context.mode === "plan" ? "plan" : "normal",
        title: titleOf(deps.redactorOf(parent.questId).text(goal).text),
        of: { parentId: parent.questId, soulScope },
      });
      const text = deps.redactorOf(questId).text(goal).text;
      const message = store.addMessage({
        ...{ questId, role: "user" },
        parts: [{ type: "text", text }],
        turn: {
          kind: "user",
          content: [
            { type: "text", text: preface },
            { type: "text", text },
          ],
        },
      });
      // The model of the task wrote it, so it is no evidence of what the user said.
      deps.externalMessages.add(message.id);
      runner.claim(questId);
      return { questId, messageId: message.id };
    });
  }

  /** Runs the loop of a created sub-task to its end. */
  async function run(parent: Run, created: { questId: string; messageId: string }, of: SubtaskRequest): Promise<Ending> {
    const { questId, messageId } = created;
    const { signal, mode } = of.context;
    const { promise, resolve } = Promise.withResolvers<Ending>();
    const subtask: SubtaskRun = {
      ...{ parent, receiptId: of.receiptId, soulScope: of.soulScope, question: mode === "question" },
      ended: resolve,
    };
    let unwound: Promise<void> = Promise.resolve();
    const stop = (): void => {
      try {
        unwound = runner.end(questId, "cancelled");
      } catch (error) {
        // The database failed. The loop was aborted, and another host reconciles the rest.
        log("the end of a sub-task could not be stored", error);
        resolve({ status: "cancelled" });
      }
    };
    runner.launch(questId, "sub-task", { messageId, subtask });
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      const ending = await promise;
      await unwound;
      return ending;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async function report(questId: string, ending: Ending, start: Parameters<typeof changes.join>[0]["start"], of: SubtaskRequest) {
    const answer = answerText(store, questId);
    const base = { questId, changeIds: [] as string[] };
    if (ending.status === "cancelled" || ending.status === "failed") {
      const problem = ending.status === "failed" ? ending.problem : "The sub-task was stopped.";
      return {
        ...base,
        text: lines("The sub-task did not finish, and none of its changes is used.", problem, answer),
        problem,
        outputs: {},
      };
    }
    const failing = failedTests(store, deps.governance, questId);
    if (failing.length > 0) {
      const problem = `Tests failed in the sub-task: ${failing.join("; ")}`;
      return { ...base, text: lines(`${problem}. None of its changes is used.`, answer), problem, outputs: { failedTests: failing } };
    }
    const { limits } = of.soulScope;
    const joined: JoinedChanges = await changes.join({
      ...{ context: of.context, child: questId, start, receiptId: of.receiptId, paths: limits?.paths },
    });
    return {
      ...{ questId, problem: joined.conflicts.length === 0 ? null : "Changes of the sub-task conflict with those of the task." },
      text: lines(answer, describeJoined(joined), describeLeft(joined)),
      changeIds: joined.joined.map(({ changeId }) => changeId),
      outputs: {
        joined: joined.joined.map(({ path, changeId }) => ({ path, changeId })),
        conflicts: joined.conflicts.map(({ path }) => path),
        outside: joined.outside,
      },
    };
  }

  return async (parent, of): Promise<SubtaskReport> => {
    const { signal } = of.context;
    await deps.ledger.ready(signal);
    signal.throwIfAborted();
    const created = create(parent, of);
    const { questId } = created;
    const stopFollowing = deps.progress.follow(questId, of.onProgress);
    try {
      const start = await changes.begin({ parent: parent.questId, child: questId });
      const ending = await run(parent, created, of);
      if (signal.aborted) throw new LancelotError("cancelled", "You stopped it.");
      await deps.ledger.ready(signal);
      return await report(questId, ending, start, of);
    } finally {
      stopFollowing();
      await changes.drop(questId).catch((error: unknown) => log("what a sub-task left could not be dropped", error));
    }
  };
}

function lines(...texts: string[]): string {
  return texts.filter((text) => text.trim() !== "").join("\n\n");
}
