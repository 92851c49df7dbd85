import { randomUUID } from "node:crypto";
import type { Change, ChangeTexts } from "../../contract/changes.ts";
import type { ActionContext } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { Governance } from "../../governance/governance.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import { resolveTarget } from "../checkpoints/restore-plan.ts";
import { utf8 } from "../text/encoding.ts";
import { decidedHunks, planAcceptance, withStates } from "./change-decisions.ts";
import { reviewText, decidedStates } from "./review-text.ts";
import { type ChangedImages, type ChangeStore, isUndecided, type StoredChange, textWith, toChange } from "./change-store.ts";
import type { PathLocks } from "../path-locks.ts";
import { computeHunks } from "../text/hunks.ts";
import { describeContent, planWhole } from "./whole-changes.ts";
import type { AcceptedText, AcceptedWhole, ApplyAccepted, Changes, EditRecord, Overlay } from "./types.ts";
import { mergeFiles } from "../text/three-way-merge.ts";
import { type CurrentText, type TargetFile, type WorkspaceFiles } from "../workspace-files.ts";

/** Key for changes of calls without a quest. */
export const noQuest = "direct";

/** Test runs that a change keeps. */
const maxEvidence = 5;

export interface ChangesDeps {
  store: ChangeStore;
  files: WorkspaceFiles;
  applyAccepted: ApplyAccepted;
  governance: Governance;
  ledger: Ledger;
  locks: PathLocks;
  emit: Emit;
  now: () => Date;
  /** Masks secrets in texts for views, events and the model. */
  hide: (questId: string, text: string) => string;
  /** True for a sub-task, whose changes nobody reviews: they join those of its task, or are dropped. Absent: there are none. */
  isSubtask?: ((questId: string) => boolean) | undefined;
}

export function createChanges(deps: ChangesDeps): Changes {
  const { store, files, governance, ledger, locks } = deps;
  const isSubtask = deps.isSubtask ?? (() => false);
  const listeners = new Set<(change: Change) => void>();

  const toView = (change: StoredChange): Change => toChange(change, (text) => deps.hide(change.questId, text));

  function save(change: StoredChange): Change {
    store.save(change);
    const shown = toView(change);
    if (!isSubtask(change.questId)) deps.emit("change", shown);
    for (const listener of listeners) listener(shown);
    return shown;
  }

  function find(id: string): StoredChange {
    const change = store.get(id);
    if (change === null) throw new LancelotError("not_found", "There is no such change in this workspace.");
    return change;
  }

  function fresh(edit: EditRecord, state: "pending" | "accepted"): StoredChange {
    const at = deps.now().toISOString();
    const hunks = computeHunks(edit.current.text, edit.text).map((hunk) => ({ ...hunk, state }));
    const change: StoredChange = {
      id: randomUUID(),
      questId: edit.questId ?? noQuest,
      path: { absolute: edit.file.absolute, display: edit.file.display },
      kind: kindOf(edit),
      status: state,
      base: edit.current.text,
      proposed: edit.text,
      encoding: edit.current.encoding,
      hunks,
      told: {},
      receiptId: edit.receiptId,
      problem: null,
      images: null,
      mode: edit.mode ?? null,
      origin: edit.origin ?? null,
      caution: edit.caution ?? null,
      evidence: [],
      createdAt: at,
      updatedAt: at,
    };
    // The tool's own result already reported a change that was applied immediately.
    return state === "accepted" ? { ...change, told: decidedStates(change) } : change;
  }

  function supersede(change: StoredChange): void {
    save({ ...change, status: "superseded", problem: null, updatedAt: deps.now().toISOString() });
  }

  function overlay(questId: string | null, file: TargetFile, current: CurrentText): Overlay {
    const open = store.open(questId ?? noQuest, file.absolute);
    if (open === null) return { text: current.text, changeId: null, conflict: false };
    if (open.images !== null) return { text: open.images.after === null ? null : current.text, changeId: open.id, conflict: false };
    const applied = textWith(open, ["accepted"]);
    for (const states of [
      ["accepted", "pending", "conflict"],
      ["accepted", "pending"],
    ] as const) {
      const merged = mergeFiles(applied, current.text, textWith(open, states));
      if (merged !== null) return { text: merged.text, changeId: open.id, conflict: false };
    }
    return { text: current.text, changeId: open.id, conflict: true };
  }

  async function acceptWhole(change: StoredChange, images: ChangedImages, by: ActionContext | null): Promise<Change | null> {
    const file = resolveTarget(change.path.absolute, change.path.display, governance);
    const plan = await planWhole(file, images);
    const write: AcceptedWhole = { change: named(change), file, current: plan.current, image: images.after };
    if (by !== null && !deps.applyAccepted.isAllowed(write, by)) return null;
    if (plan.accepted.size > 0 && plan.isNeeded) await deps.applyAccepted.apply(write, by);
    return save(withStates(change, plan, plan.problem, deps.now().toISOString()));
  }

  function target(change: StoredChange): TargetFile {
    const resolved = governance.resolvePath(change.path.absolute);
    if (!resolved.ok) throw new LancelotError("denied", resolved.message);
    if (resolved.absolute !== change.path.absolute) {
      throw new LancelotError(
        "denied",
        `${change.path.display} now resolves to a different path than when the change was proposed. Nothing was written.`,
      );
    }
    return { absolute: resolved.absolute, display: resolved.display, asked: change.path.absolute, inside: resolved.inside };
  }

  /** @returns null when `by` may not accept it without a question */
  async function accept(change: StoredChange, indexes: readonly number[] | undefined, by: ActionContext | null): Promise<Change | null> {
    const wanted = decidedHunks(change, indexes);
    if (change.images !== null) return acceptWhole(change, change.images, by);
    const file = target(change);
    for (let attempt = 0; ; attempt++) {
      const disk = await files.current(file);
      const current: CurrentText = disk.text === null ? { ...disk, encoding: change.encoding } : disk;
      const plan = planAcceptance(change, wanted, current.text);
      const write: AcceptedText = { change: named(change), file, current, text: plan.text };
      if (by !== null && !deps.applyAccepted.isAllowed(write, by)) return null;
      try {
        if (plan.accepted.size > 0 && plan.text !== current.text) await deps.applyAccepted.apply(write, by);
      } catch (error) {
        // The user may have typed between the read and the write: retry once with the current text.
        if (error instanceof LancelotError && error.code === "conflict" && attempt < 2) continue;
        throw error;
      }
      return save(withStates(change, plan, plan.problem, deps.now().toISOString()));
    }
  }

  return {
    overlay,

    propose(edit) {
      const open = store.open(edit.questId ?? noQuest, edit.file.absolute);
      if (open !== null && open.hunks.every(isUndecided)) {
        if (edit.text === edit.current.text) {
          supersede(open);
          return null;
        }
        return save({ ...fresh(edit, "pending"), id: open.id, createdAt: open.createdAt });
      }
      if (open !== null) supersede(open);
      return edit.text === edit.current.text ? null : save(fresh(edit, "pending"));
    },

    recordApplied(edit) {
      const open = store.open(edit.questId ?? noQuest, edit.file.absolute);
      if (open !== null) supersede(open);
      return save(fresh(edit, "accepted"));
    },

    proposeWhole({ questId, file, before, after, receiptId, origin, caution }) {
      const open = store.open(questId ?? noQuest, file.absolute);
      const { display, absolute } = file;
      const edit: EditRecord = {
        ...{ questId, receiptId, text: describeContent(after) },
        file: { absolute, display, asked: absolute, inside: true },
        current: { text: describeContent(before), encoding: utf8, diskHash: null, unsaved: false },
        ...(origin === undefined ? {} : { origin }),
        ...(caution === undefined ? {} : { caution }),
      };
      const change = { ...fresh(edit, "pending"), images: { before: before.image, after: after.image } };
      const replaces = open !== null && open.hunks.every(isUndecided);
      if (open !== null && !replaces) supersede(open);
      return save(replaces ? { ...change, id: open.id, createdAt: open.createdAt } : change);
    },

    addEvidence(id, evidence) {
      const change = store.get(id);
      if (change?.status !== "pending") return;
      const others = change.evidence.filter(({ command }) => command !== evidence.command).slice(1 - maxEvidence);
      save({ ...change, evidence: [...others, { ...evidence, at: deps.now().toISOString() }] });
    },

    applyAllowed(id, by) {
      const { path } = find(id);
      return locks.hold([path.absolute], async () => {
        const change = find(id);
        return change.status === "pending" && (await accept(change, undefined, by))?.status === "accepted";
      });
    },

    copy(id, { questId, receiptId }) {
      const change = find(id);
      const open = store.open(questId, change.path.absolute);
      if (open !== null) supersede(open);
      const at = deps.now().toISOString();
      return save({ ...change, id: randomUUID(), questId, receiptId, told: {}, evidence: [], createdAt: at, updatedAt: at });
    },

    withdraw(questId, absolute) {
      const open = store.open(questId ?? noQuest, absolute);
      if (open !== null) supersede(open);
    },

    review: {
      list: (filter) =>
        store
          .list(filter)
          .filter(({ questId }) => filter.questId !== undefined || !isSubtask(questId))
          .map(toView),

      get(id): ChangeTexts {
        const change = find(id);
        return { change: toView(change), base: change.base, proposed: textWith(change, ["accepted", "pending", "conflict"]) };
      },

      async decide(id, decision, hunks) {
        const { path, questId } = find(id);
        if (isSubtask(questId))
          throw new LancelotError("conflict", "This change belongs to a sub-task. Review it when the sub-task has ended.");
        return locks.hold([path.absolute], async () => {
          const change = find(id);
          const wanted = decidedHunks(change, hunks);
          const shown =
            (decision === "accept" ? await accept(change, hunks, null) : null) ??
            save(withStates(change, { rejected: new Set(wanted.map((hunk) => hunk.index)) }, change.problem, deps.now().toISOString()));
          ledger.record(
            {
              actionType: "user_interaction",
              actionName: "changes.decide",
              inputs: { changeId: id, path: path.display, decision, hunks: wanted.map((hunk) => hunk.index) },
              riskTier: "T0",
              parentId: change.receiptId,
              questId: change.questId === noQuest ? null : change.questId,
            },
            { status: "success", outputs: { status: shown.status, problem: shown.problem } },
          );
          return shown;
        });
      },

      takeReview(questId) {
        const all = store.list({ questId, limit: 10_000 }).toReversed();
        const text = deps.hide(questId, reviewText(all));
        for (const change of all) {
          const told = decidedStates(change);
          if (JSON.stringify(told) !== JSON.stringify(change.told)) store.save({ ...change, told });
        }
        return { open: all.filter((change) => change.status === "pending").length, text };
      },

      discard(questId) {
        for (const change of store.list({ questId, open: true, limit: 10_000 })) {
          const rejected = new Set(change.hunks.filter(isUndecided).map((hunk) => hunk.index));
          save(withStates(change, { rejected }, null, deps.now().toISOString()));
        }
      },

      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
}

/** A change without the key that stands for no quest. */
function named(change: StoredChange): AcceptedText["change"] {
  return { ...change, questId: change.questId === noQuest ? null : change.questId };
}

function kindOf(edit: EditRecord): Change["kind"] {
  if (edit.current.text === null) return "create";
  return edit.text === null ? "delete" : "modify";
}
