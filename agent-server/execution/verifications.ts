import { setImmediate as nextTurn } from "node:timers/promises";
import type { RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance, OutcomeReport } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { Checkpoints } from "../workspace/workspace.ts";
import type { FindingStatus, UnreportedFailure, Verification, VerificationStore } from "./verification-store.ts";
import { type FileFinding, verifyFiles } from "./verify-files.ts";

/** Most pending verifications. When the queue is full, the next one runs before its action ends. */
export const queueSize = 64;
/** Timeout (ms) of a provider's own verification. */
const ownTimeout = 30_000;

/** A provider's verification of its own effect. Resolves to null when the effect is right, else to a sentence about the problem. */
export type VerifyOwn = (signal: AbortSignal) => Promise<string | null>;

export interface Verdict {
  readonly status: "verified" | FindingStatus;
  /** For the model and the user; empty when verified. */
  readonly message: string;
  /** The receipt of the verification. */
  readonly receiptId: string;
}

export interface Verifications {
  /**
   * Queues a verification. `close` closes the action's receipt in the same transaction that stores the job, so that a
   * crash loses neither. Returns false and does nothing when the queue is full or the host is closing.
   */
  enqueue(verification: Verification, verify: VerifyOwn | null, close: () => void): boolean;
  /**
   * Verifies at once, records the result under the action's receipt, and undoes the effect when it is wrong.
   * `held`: the caller holds the locks of the files. Findings are returned, never thrown.
   */
  verifyNow(verification: Verification, verify: VerifyOwn | null, options: { held: boolean; restore: boolean }): Promise<Verdict>;
  /**
   * Waits until the verifications of a quest have ended, or all of them without a quest.
   * @returns false when `timeoutMs` is over first. @throws LancelotError `cancelled` (signal).
   */
  drain(of: { timeoutMs: number; questId?: string | null; signal?: AbortSignal }): Promise<boolean>;
  /** The findings that the model of a quest was not informed of yet, and marks them as reported. */
  take(questId: string): UnreportedFailure[];
  /** True when a verification of the quest failed since the last `take`. Reads memory only. */
  hasFailed(questId: string): boolean;
  /** Pending verifications, and those that failed in this workspace. */
  stats(): { waiting: number; failed: number };
  /** Queues the verifications that hosts that died left pending, and returns their number. */
  resume(): number;
  /** Called when a verification failed. */
  onFailure(listener: (failure: { questId: string | null; receiptId: string; message: string }) => void): () => void;
  /** Refuses new verifications, waits up to `timeoutMs` for pending ones, and records the rest as unverified. */
  close(timeoutMs: number): Promise<void>;
}

export interface VerificationsDeps {
  readonly storage: Storage;
  readonly store: VerificationStore;
  readonly ledger: Ledger;
  readonly redactor: Redactor;
  readonly governance: Pick<Governance, "resolvePath">;
  readonly checkpoints: Pick<Checkpoints, "touchedLater">;
  /** Restores the files of a checkpoint and keeps later edits of others. */
  readonly rollBack: (
    checkpointId: string,
    of: { questId: string | null; parentId: string; held: boolean },
  ) => Promise<Pick<RestoreResult, "restored" | "conflicts">>;
  readonly outcome: (report: OutcomeReport) => void;
  readonly log: Log;
  readonly queueSize?: number;
}

interface QueuedVerification {
  readonly verification: Verification;
  readonly verify: VerifyOwn | null;
  /** Taken over from a host that died, so the provider's own verification cannot run. */
  readonly adopted: boolean;
}

/** Verifies T1 actions in the background, one at a time, and all others before they end. */
export function createVerifications(deps: VerificationsDeps): Verifications {
  const { storage, store, ledger } = deps;
  const size = deps.queueSize ?? queueSize;
  const queue: QueuedVerification[] = [];
  let current: QueuedVerification | null = null;
  let working: Promise<void> | null = null;
  let closed = false;
  const ends = new Set<() => void>();
  const listeners = new Set<(failure: { questId: string | null; receiptId: string; message: string }) => void>();
  const unreported = new Map<string, UnreportedFailure[]>();
  for (const one of store.unreported()) remember(one);

  function remember(one: UnreportedFailure): void {
    unreported.set(one.questId, [...(unreported.get(one.questId) ?? []), one]);
  }

  async function work(): Promise<void> {
    // Lets the tool's answer go out first.
    await nextTurn();
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      current = next;
      try {
        await verifyOne(next);
      } catch (error) {
        // The database failed or the host closed. The row is kept, so the next host verifies it.
        deps.log("a verification could not be recorded", error);
      }
      current = null;
      for (const end of ends) end();
    }
    working = null;
    for (const end of ends) end();
  }

  function start(): void {
    if (!closed && queue.length > 0) working ??= work();
  }

  async function verifyOne({ verification, verify, adopted }: QueuedVerification): Promise<void> {
    const { receiptId, questId } = verification;
    const verdict = await conclude(verification, verify, { held: false, restore: true, adopted }, (status, message) => {
      // `close` records the remaining verifications as unverified.
      if (closed) throw new LancelotError("unavailable", "The host has closed.");
      if (status === "verified") store.markVerified(receiptId);
      else store.markFinding(receiptId, status, message);
    });
    if (verdict.status === "verified") return;
    if (questId !== null) remember({ receiptId, questId, status: verdict.status, message: verdict.message });
    if (verdict.status !== "failed") return;
    deps.outcome({ receiptId, questId, steps: verification.steps, result: "failure", verification: true });
    for (const listener of listeners) listener({ questId, receiptId, message: verdict.message });
  }

  /** Verifies, undoes a wrong effect, and records the result under the action's receipt. `keep` runs in the same transaction. */
  async function conclude(
    verification: Verification,
    verify: VerifyOwn | null,
    options: { held: boolean; restore: boolean; adopted: boolean },
    keep: (status: Verdict["status"], message: string) => void,
  ): Promise<Verdict> {
    const { receiptId, questId, checkpointId, expectations } = verification;
    const files = await checkFiles(verification);
    const own = verify === null ? null : await runOwn(verify);
    const bad = files.filter(({ state }) => state === "wrong" || state === "moved" || state === "unreadable");
    const wrong = files.some(({ state }) => state === "wrong") || own?.wrong === true;
    const opening = {
      actionType: "verification" as const,
      actionName: `${verification.name}.verify`,
      inputs: { paths: expectations.map(({ path }) => path.display), checkpointId },
      riskTier: "T0" as const,
      parentId: receiptId,
      questId,
    };
    const findings = files.filter(({ state }) => state !== "ok");
    const outputs = {
      files: expectations.length,
      ...(findings.length === 0 ? {} : { findings }),
      ...(own === null ? {} : { provider: own.problem ?? "verified" }),
      ...(options.adopted && verification.own ? { unverified: "the provider's own verification, because its host died" } : {}),
    };
    if (bad.length === 0 && (own?.problem ?? null) === null) {
      const changed = files.filter(({ state }) => state === "changed");
      const status = changed.length === 0 ? "verified" : "changed";
      const message = changed.length === 0 ? "" : `${list(changed)}. Read it again before you edit it.`;
      const recorded = storage.transaction(() => {
        const id = ledger.open(opening);
        ledger.close(id, { status: "success", outputs });
        keep(status, message);
        return id;
      });
      return { status, message, receiptId: recorded };
    }
    // Opened before the restore, so that the restore's receipt is a child of it.
    const recorded = ledger.open(opening);
    const rolledBack =
      wrong && options.restore && checkpointId !== null ? await rollBack(checkpointId, questId, recorded, options.held) : null;
    const message = failureMessage(verification.name, bad, own?.problem ?? null, rolledBack);
    storage.transaction(() => {
      ledger.close(recorded, { status: "failure", errorMessage: message, outputs: { ...outputs, ...rolledBack } });
      keep("failed", message);
    });
    return { status: "failed", message, receiptId: recorded };
  }

  async function checkFiles({ expectations, checkpointId }: Verification): Promise<FileFinding[]> {
    return verifyFiles(expectations, {
      governance: deps.governance,
      touchedLater: (path) => checkpointId !== null && deps.checkpoints.touchedLater(checkpointId, path),
    });
  }

  /** Runs the provider's verification. A verification that fails to run is a problem, but does not undo the effect. */
  async function runOwn(verify: VerifyOwn): Promise<{ problem: string | null; wrong: boolean }> {
    const signal = AbortSignal.timeout(ownTimeout);
    const { promise, reject } = Promise.withResolvers<never>();
    const over = (): void => reject(new LancelotError("unavailable", "the verification timed out"));
    signal.addEventListener("abort", over, { once: true });
    try {
      const problem = await Promise.race([verify(signal), promise]);
      return problem === null ? { problem, wrong: false } : { problem: deps.redactor.text(problem).text, wrong: true };
    } catch (error) {
      if (!(error instanceof LancelotError)) deps.log("a provider's verification failed", error);
      return { problem: `the provider could not verify it${error instanceof LancelotError ? ` (${error.message})` : ""}`, wrong: false };
    } finally {
      signal.removeEventListener("abort", over);
    }
  }

  async function rollBack(checkpointId: string, questId: string | null, parentId: string, held: boolean) {
    try {
      return await deps.rollBack(checkpointId, { questId, parentId, held });
    } catch (error) {
      if (!(error instanceof LancelotError)) deps.log("a failed action could not be undone", error);
      const message = error instanceof LancelotError ? error.message : "See the log for the reason.";
      return { restored: [], conflicts: [{ path: "the files", message }] };
    }
  }

  const isPending = (questId: string | null | undefined): boolean =>
    [...queue, ...(current === null ? [] : [current])].some(
      ({ verification }) => questId === undefined || questId === null || verification.questId === questId,
    );

  return {
    enqueue(verification, verify, close) {
      if (closed || queue.length >= size) return false;
      storage.transaction(() => {
        close();
        store.add({
          ...verification,
          steps: verification.steps.map((step) => ({ ...step, intent: redacted(step.intent, deps.redactor) })),
        });
      });
      queue.push({ verification, verify, adopted: false });
      start();
      return true;
    },

    verifyNow: (verification, verify, { held, restore }) =>
      conclude(verification, verify, { held, restore, adopted: false }, () => undefined),

    async drain({ timeoutMs, questId, signal }) {
      if (!isPending(questId)) return true;
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const look = (): void => {
        if (!isPending(questId)) resolve(true);
      };
      const stop = (): void => reject(new LancelotError("cancelled", "Stopped while waiting for the verification of earlier actions."));
      const timer = setTimeout(() => resolve(!isPending(questId)), timeoutMs);
      ends.add(look);
      signal?.addEventListener("abort", stop, { once: true });
      if (signal?.aborted === true) stop();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        ends.delete(look);
        signal?.removeEventListener("abort", stop);
      }
    },

    take(questId) {
      const mine = unreported.get(questId);
      if (mine === undefined) return [];
      unreported.delete(questId);
      return mine.filter(({ receiptId }) => store.claimReport(receiptId));
    },

    hasFailed: (questId) => unreported.get(questId)?.some(({ status }) => status === "failed") === true,

    stats: () => ({ waiting: queue.length + (current === null ? 0 : 1), failed: store.failed() }),

    resume() {
      const left = store.adopt();
      // The limit of the queue does not apply: these verifications were accepted before.
      for (const verification of left) queue.push({ verification, verify: null, adopted: true });
      start();
      return left.length;
    },

    onFailure(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    async close(timeoutMs) {
      if (closed) return;
      await this.drain({ timeoutMs });
      closed = true;
      const left = [...(current === null ? [] : [current]), ...queue.splice(0)];
      for (const { verification } of left) {
        const message = `${verification.name}: the host closed before this was verified. Check the files before you rely on them.`;
        storage.transaction(() => {
          const id = ledger.open({
            actionType: "verification",
            actionName: `${verification.name}.verify`,
            inputs: { paths: verification.expectations.map(({ path }) => path.display), checkpointId: verification.checkpointId },
            riskTier: "T0",
            parentId: verification.receiptId,
            questId: verification.questId,
          });
          ledger.close(id, { status: "cancelled", errorMessage: message });
          store.markFinding(verification.receiptId, "unverified", message);
        });
      }
    },
  };
}

function redacted(intent: Verification["steps"][number]["intent"], redactor: Redactor): Verification["steps"][number]["intent"] {
  return { ...intent, args: redactor.value(intent.args, 8192) };
}

function list(findings: readonly FileFinding[]): string {
  return findings.map(({ message }) => message).join("; ");
}

function failureMessage(
  name: string,
  bad: readonly FileFinding[],
  own: string | null,
  rolledBack: Pick<RestoreResult, "restored" | "conflicts"> | null,
): string {
  const found = [...bad.map(({ message }) => message), ...(own === null ? [] : [own])].join("; ");
  const sentences = [`${name} failed its verification: ${found}.`];
  if (rolledBack === null) sentences.push("Nothing was restored.");
  else if (rolledBack.restored.length > 0) sentences.push(`Restored: ${rolledBack.restored.join(", ")}.`);
  else if (rolledBack.conflicts.length === 0) sentences.push("There was nothing to restore.");
  for (const { path, message } of rolledBack?.conflicts ?? []) sentences.push(`Not restored: ${path}: ${message}`);
  return sentences.join(" ");
}
