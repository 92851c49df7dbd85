import { setImmediate as nextTurn } from "node:timers/promises";
import type { RestoreResult } from "../contract/changes.ts";
import { LancelotError } from "../contract/errors.ts";
import type { Governance, OutcomeReport } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { Log, Redactor } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { Checkpoints } from "../workspace/workspace.ts";
import type { BadEnd, UnreportedFailure, Verification, VerificationStore } from "./verification-store.ts";
import { type FileFinding, verifyFiles } from "./verify-files.ts";

/** Verifications that may wait; the next one is made at once instead. */
export const queueSize = 64;
/** A provider's own verification may take this long, in ms. */
const ownTimeout = 30_000;

/** A provider's own look at what it did: null when it is as it was to be, else a sentence that says what is not. */
export type VerifyOwn = (signal: AbortSignal) => Promise<string | null>;

export interface Verdict {
  readonly status: "verified" | BadEnd;
  /** For the model and the owner; empty when verified. */
  readonly words: string;
  /** The receipt of the verification. */
  readonly receiptId: string;
}

export interface Verifications {
  /**
   * Takes a verification for later. `close` closes the action's receipt, in the same transaction as the job is kept, so that a
   * crash loses neither. False, and nothing done, when the queue is full or the host is closing.
   */
  enqueue(verification: Verification, verify: VerifyOwn | null, close: () => void): boolean;
  /**
   * Verifies now, records it under the action's receipt, and takes the effect back when it is not what it was to be.
   * `held`: the caller holds the locks of the files. Never throws for what it finds.
   */
  now(verification: Verification, verify: VerifyOwn | null, options: { held: boolean; restore: boolean }): Promise<Verdict>;
  /**
   * Waits until the verifications of a quest (of everything without one) have ended.
   * @returns false when `timeoutMs` is over first. @throws LancelotError `cancelled` (signal).
   */
  drain(of: { timeoutMs: number; questId?: string | null; signal?: AbortSignal }): Promise<boolean>;
  /** What a quest was not told yet; from now on it counts as told. */
  take(questId: string): UnreportedFailure[];
  /** True when something of the quest failed and `take` was not called since. Cheap. */
  hasFailed(questId: string): boolean;
  /** Those that have not ended, and those that failed in this workspace so far. */
  stats(): { waiting: number; failed: number };
  /** Takes up what hosts that died left unverified. Returns how many. */
  resume(): number;
  /** Told when a verification failed, or could not be made. */
  onFailure(listener: (failure: { questId: string | null; receiptId: string; words: string }) => void): () => void;
  /** Takes no more, waits for what is under way, and records the rest as unverified. */
  close(timeoutMs: number): Promise<void>;
}

export interface VerificationsDeps {
  readonly storage: Storage;
  readonly store: VerificationStore;
  readonly ledger: Ledger;
  readonly redactor: Redactor;
  readonly governance: Pick<Governance, "resolvePath">;
  readonly checkpoints: Pick<Checkpoints, "touchedLater">;
  /** Puts the files of a checkpoint back; what somebody did to them since is kept. */
  readonly rollBack: (
    checkpointId: string,
    of: { questId: string | null; parentId: string; held: boolean },
  ) => Promise<Pick<RestoreResult, "restored" | "conflicts">>;
  readonly outcome: (report: OutcomeReport) => void;
  readonly log: Log;
  readonly queueSize?: number;
}

interface Waiting {
  readonly verification: Verification;
  readonly verify: VerifyOwn | null;
  /** Its provider's own part died with the host that ran it. */
  readonly adopted: boolean;
}

/** Verification of reversible actions behind their back, one after the other, and of all others before they are over. */
export function createVerifications(deps: VerificationsDeps): Verifications {
  const { storage, store, ledger } = deps;
  const size = deps.queueSize ?? queueSize;
  const queue: Waiting[] = [];
  let current: Waiting | null = null;
  let working: Promise<void> | null = null;
  let closed = false;
  const ends = new Set<() => void>();
  const listeners = new Set<(failure: { questId: string | null; receiptId: string; words: string }) => void>();
  const untold = new Map<string, UnreportedFailure[]>();
  for (const one of store.untold()) remember(one);

  function remember(one: UnreportedFailure): void {
    untold.set(one.questId, [...(untold.get(one.questId) ?? []), one]);
  }

  async function work(): Promise<void> {
    // The tool's own answer goes out first.
    await nextTurn();
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      current = next;
      try {
        await verifyOne(next);
      } catch (error) {
        // The database does not answer, or the host closes. The row is kept, so the next host verifies it.
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

  async function verifyOne({ verification, verify, adopted }: Waiting): Promise<void> {
    const { receiptId, questId } = verification;
    const verdict = await conclude(verification, verify, { held: false, restore: true, adopted }, (status, words) => {
      // What is left then is recorded as unverified.
      if (closed) throw new LancelotError("unavailable", "The host closed.");
      if (status === "verified") store.good(receiptId);
      else store.bad(receiptId, status, words);
    });
    if (verdict.status === "verified") return;
    if (questId !== null) remember({ receiptId, questId, status: verdict.status, words: verdict.words });
    if (verdict.status !== "failed") return;
    deps.outcome({ receiptId, questId, steps: verification.steps, result: "failure", verification: true });
    for (const listener of listeners) listener({ questId, receiptId, words: verdict.words });
  }

  /** Looks, takes back what is wrong, and records it under the receipt of the action; `keep` runs in that transaction. */
  async function conclude(
    verification: Verification,
    verify: VerifyOwn | null,
    options: { held: boolean; restore: boolean; adopted: boolean },
    keep: (status: Verdict["status"], words: string) => void,
  ): Promise<Verdict> {
    const { receiptId, questId, checkpointId, expectations } = verification;
    const files = await look(verification);
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
      ...(own === null ? {} : { provider: own.problem ?? "as it was to be" }),
      ...(options.adopted && verification.own ? { unverified: "the provider's own verification, because its host ended" } : {}),
    };
    if (bad.length === 0 && (own?.problem ?? null) === null) {
      const changed = files.filter(({ state }) => state === "changed");
      const status = changed.length === 0 ? "verified" : "changed";
      const words = changed.length === 0 ? "" : `${list(changed)}. Read it again before you edit it.`;
      const recorded = storage.transaction(() => {
        const id = ledger.open(opening);
        ledger.close(id, { status: "success", outputs });
        keep(status, words);
        return id;
      });
      return { status, words, receiptId: recorded };
    }
    // Open while it is taken back, so that the restore hangs under it.
    const recorded = ledger.open(opening);
    const taken = wrong && options.restore && checkpointId !== null ? await rollBack(checkpointId, questId, recorded, options.held) : null;
    const words = failureWords(verification.name, bad, own?.problem ?? null, taken);
    storage.transaction(() => {
      ledger.close(recorded, { status: "failure", errorMessage: words, outputs: { ...outputs, ...taken } });
      keep("failed", words);
    });
    return { status: "failed", words, receiptId: recorded };
  }

  async function look({ expectations, checkpointId }: Verification): Promise<FileFinding[]> {
    return verifyFiles(expectations, {
      governance: deps.governance,
      touchedLater: (path) => checkpointId !== null && deps.checkpoints.touchedLater(checkpointId, path),
    });
  }

  /** What the provider says; that it cannot say anything is no reason to take something back. */
  async function runOwn(verify: VerifyOwn): Promise<{ problem: string | null; wrong: boolean }> {
    const signal = AbortSignal.timeout(ownTimeout);
    const { promise, reject } = Promise.withResolvers<never>();
    const over = (): void => reject(new LancelotError("unavailable", "its verification took too long"));
    signal.addEventListener("abort", over, { once: true });
    try {
      const problem = await Promise.race([verify(signal), promise]);
      return problem === null ? { problem, wrong: false } : { problem: deps.redactor.text(problem).text, wrong: true };
    } catch (error) {
      if (!(error instanceof LancelotError)) deps.log("a provider's verification failed", error);
      return { problem: `it could not be verified${error instanceof LancelotError ? ` (${error.message})` : ""}`, wrong: false };
    } finally {
      signal.removeEventListener("abort", over);
    }
  }

  async function rollBack(checkpointId: string, questId: string | null, parentId: string, held: boolean) {
    try {
      return await deps.rollBack(checkpointId, { questId, parentId, held });
    } catch (error) {
      if (!(error instanceof LancelotError)) deps.log("a failed action could not be taken back", error);
      const message = error instanceof LancelotError ? error.message : "The log says why.";
      return { restored: [], conflicts: [{ path: "the files", message }] };
    }
  }

  const waits = (questId: string | null | undefined): boolean =>
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

    now: (verification, verify, { held, restore }) => conclude(verification, verify, { held, restore, adopted: false }, () => undefined),

    async drain({ timeoutMs, questId, signal }) {
      if (!waits(questId)) return true;
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const look = (): void => {
        if (!waits(questId)) resolve(true);
      };
      const stop = (): void => reject(new LancelotError("cancelled", "Stopped while earlier actions were verified."));
      const timer = setTimeout(() => resolve(!waits(questId)), timeoutMs);
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
      const mine = untold.get(questId);
      if (mine === undefined) return [];
      untold.delete(questId);
      return mine.filter(({ receiptId }) => store.tell(receiptId));
    },

    hasFailed: (questId) => untold.get(questId)?.some(({ status }) => status === "failed") === true,

    stats: () => ({ waiting: queue.length + (current === null ? 0 : 1), failed: store.failed() }),

    resume() {
      const left = store.adopt();
      // However many there are: they were taken once already.
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
        const words = `${verification.name}: the host closed before this could be verified. Look at it before you rely on it.`;
        storage.transaction(() => {
          const id = ledger.open({
            actionType: "verification",
            actionName: `${verification.name}.verify`,
            inputs: { paths: verification.expectations.map(({ path }) => path.display), checkpointId: verification.checkpointId },
            riskTier: "T0",
            parentId: verification.receiptId,
            questId: verification.questId,
          });
          ledger.close(id, { status: "cancelled", errorMessage: words });
          store.bad(verification.receiptId, "unverified", words);
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

function failureWords(
  name: string,
  bad: readonly FileFinding[],
  own: string | null,
  taken: Pick<RestoreResult, "restored" | "conflicts"> | null,
): string {
  const found = [...bad.map(({ message }) => message), ...(own === null ? [] : [own])].join("; ");
  const sentences = [`What ${name} did was checked and is not as it was to be: ${found}.`];
  if (taken === null) sentences.push("Nothing was put back.");
  else if (taken.restored.length > 0) sentences.push(`Put back as before: ${taken.restored.join(", ")}.`);
  else if (taken.conflicts.length === 0) sentences.push("There was nothing to put back.");
  for (const { path, message } of taken?.conflicts ?? []) sentences.push(`Not put back: ${path}: ${message}`);
  return sentences.join(" ");
}
