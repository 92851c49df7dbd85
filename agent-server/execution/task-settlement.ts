import type { ActionContext } from "../contract/action.ts";
import type { TaskLeft } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log } from "../security/security.ts";
import type { Governance } from "../governance/governance.ts";
import {
  branchName,
  type Changes,
  type ChangeStore,
  describeGroups,
  fileProvider,
  findRepository,
  gitProvider,
  noQuest,
  nothingLeft,
  type PathLocks,
  type RepositoryMoves,
  shortHash,
  type StoredChange,
  type TaskFolders,
  type Tasks,
  type TaskStore,
  toTaskLeft,
} from "../workspace/workspace.ts";
import type { Action } from "./action.ts";
import type { ExecutionPipeline } from "./pipeline.ts";

/** When generated files reach the workspace: with the review of the task's other changes, at once, or never. */
export type GeneratedMode = "with_review" | "at_once" | "never";

/** What becomes of a task's changes: those that need no review are applied, commits and generated files follow the review. */
export interface TaskSettlement {
  /**
   * Applies what may be applied now. Call it after a command of the task and after a review.
   * @returns what the model should know; empty when nothing happened
   * @throws LancelotError `cancelled`.
   */
  settle(context: ActionContext): Promise<string>;
  /** Generated files and commits of a quest that wait, and what stays in its copy. */
  left(questId: string): TaskLeft;
  /** The text of a generated file that only the task has; null when there is none. @param path relative to the workspace */
  readText(questId: string, path: string): Promise<string | null>;
  /** The user's decision about the generated files of a quest. @throws LancelotError as the pipeline; `not_found`. */
  decideGenerated(questId: string, decision: "accept" | "reject"): Promise<TaskLeft>;
  /** Undoes the generated files that a quest applied. */
  undo(questId: string): Promise<{ restored: string[]; conflicts: { path: string; message: string }[] }>;
  /** Removes everything that a deleted quest's task keeps. */
  forget(questId: string): void;
  close(): void;
}

export interface TaskSettlementDeps {
  readonly root: string;
  readonly tasks: Tasks;
  readonly changes: Changes;
  readonly store: Pick<ChangeStore, "list">;
  readonly governance: Pick<Governance, "posture" | "judgeName" | "obeyed">;
  readonly pipeline: ExecutionPipeline;
  readonly locks: PathLocks;
  readonly moves: RepositoryMoves;
  readonly folders: Pick<TaskFolders, "remove">;
  readonly records: Pick<TaskStore, "save">;
  readonly mode: () => GeneratedMode;
  /** Nothing of a sub-task is applied: its proposals join its task, and the rest stays behind. */
  readonly isSubtask: (questId: string) => boolean;
  readonly ledger: Pick<Ledger, "record">;
  readonly emit: Emit;
  readonly log: Log;
}

/** Changes of a quest that are read at once. */
const maxChanges = 100_000;
/** Paths in an intent. */
const maxPaths = 500;

type OfQuest = ActionContext & { readonly quest: string };

export function createTaskSettlement(deps: TaskSettlementDeps): TaskSettlement {
  const { root, tasks, changes, store, pipeline } = deps;
  const { rests } = tasks;
  /** What the model should know of reviews that ended while no run waited, by quest. */
  const untold = new Map<string, string[]>();
  /** Why the commits of a quest wait, as the model was told. */
  const waiting = new Map<string, string>();
  let isClosed = false;

  const isAutonomous = (context: ActionContext): boolean => deps.governance.posture(context) === "autonomous";

  const changesOf = (questId: string): StoredChange[] => store.list({ questId, limit: maxChanges });

  const leftOf = (questId: string): TaskLeft => toTaskLeft(questId, rests.of(questId), rests.inCopy(questId));

  function tell(questId: string): TaskLeft {
    const left = leftOf(questId);
    deps.emit("task", left);
    return left;
  }

  /** Applies proposed changes of commands that need no approval; the others wait for the review. */
  async function applyProposed(context: OfQuest): Promise<number> {
    let count = 0;
    for (const { id, origin, caution } of store.list({ questId: context.quest, open: true, limit: maxChanges })) {
      if (origin === null || caution !== null) continue;
      try {
        if (await changes.applyAllowed(id, context)) count += 1;
      } catch (error) {
        // Its receipt has the reason, and the change stays proposed.
        if (!(error instanceof LancelotError) || error.code === "cancelled") throw error;
      }
    }
    return count;
  }

  const base = (context: ActionContext) => ({
    ...context,
    actionType: "system" as const,
    touches: [],
    consent: "ask" as const,
  });

  async function applyGenerated(context: OfQuest, consent: Action<unknown>["consent"]): Promise<string> {
    const { generated } = rests.of(context.quest);
    if (generated === null) throw new LancelotError("not_found", "This task has no generated files that are not applied yet.");
    const paths = generated.paths.slice(0, maxPaths);
    const words = describeGroups(generated.groups);
    await pipeline.execute({
      ...base(context),
      consent,
      actionName: "generated_apply",
      inputs: { groups: generated.groups, total: generated.paths.length },
      steps: [{ capability: "file_ops", action: "write", args: { path: paths[0] ?? ".", paths } }],
      question: { title: "Apply generated files", detail: words },
      provider: fileProvider,
      run: async ({ receiptId }) => {
        const { steps, skipped } = await rests.applyGenerated({ questId: context.quest, receiptId, signal: context.signal });
        return { value: null, outputs: { steps, ...(skipped.length === 0 ? {} : { skipped }) } };
      },
    });
    return words;
  }

  async function settleGenerated(context: OfQuest): Promise<string> {
    const { generated } = rests.of(context.quest);
    const mode = deps.mode();
    if (generated === null || mode === "never") return "";
    const atOnce = mode === "at_once" || isAutonomous(context);
    const all = changesOf(context.quest);
    const isReviewed =
      !all.some(({ status }) => status === "pending") &&
      all.some(({ status, updatedAt }) => (status === "accepted" || status === "mixed") && updatedAt >= generated.at);
    if (!atOnce && !isReviewed) return "";
    try {
      return `[Generated files are now in the workspace: ${await applyGenerated(context, atOnce ? "ask" : "review")}.]`;
    } catch (error) {
      return problemText("The generated files were not applied", error);
    }
  }

  /** Imports the task's commits once every change in them is accepted; drops them when one was rejected. */
  async function settleCommits(context: OfQuest): Promise<string> {
    const { quest: questId, signal } = context;
    const { repository } = rests.of(questId);
    if (repository === null || repository.work.refs.length === 0) return "";
    const { work } = repository;
    const subjects = work.commits.map(({ subject }) => `“${subject}”`).join(", ");
    const latest = new Map(
      changesOf(questId)
        .toReversed()
        .map((change) => [change.path.absolute, change.status]),
    );
    const states = work.paths.map((path) => latest.get(`${root}/${path}`));
    if (states.includes("pending")) return "";
    if (states.some((status) => status === "rejected" || status === "mixed")) {
      await rests.dropCommits({ questId, signal });
      return `[The commits of this task (${subjects}) were not taken over, because the user did not accept every change in them. To commit what was accepted, use git_commit.]`;
    }
    const isReviewed = states.length > 0 && states.every((status) => status === "accepted");
    try {
      const { value } = await pipeline.execute({
        ...base(context),
        consent: isReviewed && !isAutonomous(context) ? "review" : "ask",
        actionName: "commit_import",
        inputs: { commits: work.commits.slice(0, 50).map(({ hash, subject }) => ({ hash, subject })), refs: work.refs },
        steps: [
          {
            capability: "repo_ops",
            action: "commit",
            args: {
              message: work.commits[0]?.message ?? "",
              paths: work.paths.slice(0, maxPaths),
              branch: work.refs.map(({ ref }) => branchName(ref)).join(", "),
            },
          },
        ],
        question: { title: `Take over ${work.commits.length === 1 ? "a commit" : `${work.commits.length} commits`}`, detail: subjects },
        provider: gitProvider,
        run: async ({ receiptId }) => {
          const result = await deps.locks.hold([`repository\0${findRepository(root)?.commonDir ?? root}`], () =>
            rests.importCommits({
              questId,
              signal,
              // Only what the user lets pass unreviewed may be in a commit alone, and nothing that another program would run.
              expectFiles:
                !isAutonomous(context) ||
                work.paths.some((path) => deps.governance.judgeName(path) !== null || deps.governance.obeyed(path) !== null),
              record(move) {
                const id = deps.moves.record({ questId, receiptId, move });
                return () => deps.moves.takenBack(id);
              },
            }),
          );
          return { value: result, outputs: { refs: result.refs, head: result.head } };
        },
      });
      const moved = value.refs.map(({ ref, after }) => `${branchName(ref)} at ${shortHash(after)}`).join(", ");
      return `[The commits of this task (${subjects}) are now in the user's repository: ${moved}.]`;
    } catch (error) {
      if (error instanceof LancelotError && error.code === "cancelled") throw error;
      const text = problemText(`The commits of this task (${subjects}) were not taken over`, error);
      // The user can end a rebase or unstage a file: the commits wait for that, and the model is told once.
      if (error instanceof LancelotError && (error.code === "conflict" || error.code === "unavailable")) {
        if (waiting.get(questId) === text) return "";
        waiting.set(questId, text);
      } else await rests.dropCommits({ questId, signal });
      return text;
    }
  }

  async function settleQuest(context: OfQuest): Promise<string> {
    if (deps.isSubtask(context.quest)) return "";
    const applied = isAutonomous(context) ? await applyProposed(context) : 0;
    // What a background command has open is settled when it ends.
    const isOpen = tasks.background.sandboxOf(context.quest) !== null;
    const texts = [
      applied === 0 ? "" : `[Applied to the workspace: ${applied} of the proposed changes. The user can undo them.]`,
      isOpen ? "" : await settleCommits(context),
      isOpen ? "" : await settleGenerated(context),
    ];
    tell(context.quest);
    return texts.filter((text) => text !== "").join("\n");
  }

  const alone = <T>(questId: string, work: () => Promise<T>): Promise<T> => deps.locks.hold([`task\0${questId}`], work);

  /** Settles a quest that no run may be waiting for. */
  function settleLater(questId: string, isDue: (questId: string) => boolean): void {
    // The caller may be inside the decision's transaction, so continue after it.
    setImmediate(() => {
      if (isClosed) return;
      alone(questId, async () => {
        if (!isDue(questId)) return;
        const text = await settleQuest(ownerContext(questId));
        if (text !== "") untold.set(questId, [...(untold.get(questId) ?? []), text]);
      }).catch((error: unknown) => deps.log("the changes of a task could not be settled", error));
    });
  }
  const isReviewOver = (questId: string): boolean => {
    const { generated, repository } = rests.of(questId);
    return (generated !== null || repository !== null) && changes.review.list({ questId, open: true, limit: 1 }).length === 0;
  };
  const stopListening = [
    changes.review.onChange(({ questId, status }) => status !== "pending" && settleLater(questId, isReviewOver)),
    tasks.background.onClosed((questId) => settleLater(questId, () => true)),
  ];

  return {
    async settle(context) {
      const quest = context.quest ?? noQuest;
      const text = await alone(quest, () => settleQuest({ ...context, quest }));
      const texts = [...(untold.get(quest) ?? []), ...(text === "" ? [] : [text])];
      untold.delete(quest);
      return texts.join("\n");
    },

    readText: rests.readText,
    left: leftOf,

    decideGenerated: (questId, decision) =>
      alone(questId, async () => {
        if (deps.isSubtask(questId))
          throw new LancelotError("conflict", "The generated files of a sub-task stay in its copy of the workspace.");
        const context = ownerContext(questId);
        if (decision === "accept") await applyGenerated(context, "review");
        else await rests.discardGenerated({ questId, signal: context.signal });
        deps.ledger.record(
          { actionType: "user_interaction", actionName: "changes.decideGenerated", inputs: { decision }, riskTier: "T0", questId },
          { status: "success" },
        );
        return tell(questId);
      }),

    forget(questId) {
      const remove = (): void => {
        try {
          deps.folders.remove(questId);
          deps.records.save(questId, nothingLeft);
        } catch (error) {
          // It is in use or half applied: the collection removes it later.
          deps.log("the files of a deleted task could not be removed", error);
        }
      };
      if (tasks.background.sandboxOf(questId) === null) remove();
      else void tasks.background.stop(questId).then(remove);
    },

    close() {
      isClosed = true;
      for (const stop of stopListening) stop();
    },

    undo: (questId) =>
      alone(questId, async () => {
        if (!rests.hasApplied(questId)) return { restored: [], conflicts: [] };
        const { value } = await pipeline.execute({
          ...base(ownerContext(questId)),
          consent: "review",
          actionName: "generated_restore",
          inputs: {},
          steps: [{ capability: "file_ops", action: "write", args: { path: "." } }],
          question: { title: "Undo the generated files", detail: "" },
          provider: fileProvider,
          run: async () => {
            const undone = await rests.undoGenerated(questId);
            return { value: undone, outputs: { count: undone.count, conflicts: undone.conflicts.slice(0, maxPaths) } };
          },
        });
        return {
          restored: value.count === 0 ? [] : ["the generated files"],
          conflicts: value.conflicts.map((path) => ({ path, message: "It was changed since, so it stays as it is." })),
        };
      }),
  };
}

function ownerContext(questId: string): OfQuest {
  return { quest: questId, parent: null, actor: "owner", mode: "normal", signal: new AbortController().signal };
}

/** @throws the error when it is not about the request. */
function problemText(words: string, error: unknown): string {
  if (!(error instanceof LancelotError) || error.code === "cancelled") throw error;
  return `[${words}: ${error.message}]`;
}
