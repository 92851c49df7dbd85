import { setImmediate } from "node:timers/promises";
import { LancelotError } from "../contract/errors.ts";
import type { Receipt } from "../contract/receipts.ts";
import type { Log, Redactor, Secrets } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import { createAppend, damagedLedger } from "./append.ts";
import { boundFields, boundText } from "./bounds.ts";
import { type CloseEntry, type Entry, type EntryRow, newReceiptId, OpenEntry, readEntry, toReceipt } from "./entry.ts";
import { exportReceipts } from "./export.ts";
import { createProjection, receiptOfRow } from "./projection.ts";
import type { Ledger, ReceiptClosing, ReceiptOpening } from "./types.ts";
import { createRetention } from "./retention.ts";
import { findSealed, sealedSpan } from "./sealed-receipts.ts";
import { usesTextIndex, searchReceipts } from "./search.ts";
import { createHeadSigner } from "./signed-heads.ts";
import { createSigningKeys } from "./signing-keys.ts";
import { withReceipt } from "./with-receipt.ts";
import { createTextIndex } from "./text-index.ts";
import { traceReceipts } from "./trace.ts";
import { verifyLedger } from "./verify.ts";

/** Maximum number of batched T0 receipts, and the maximum delay before they are written (ms). */
const batchSize = 64;
const batchDelay = 250;
/** Delay (ms) while the derived tables are behind: a search has to wait for what is left. */
const catchUpDelay = 50;
/** Ledger entries that one timer tick adds to the derived tables: a few milliseconds of work. */
const perTick = { projected: 500, indexed: 200, checked: 5_000 };

/** Both entries of a finished action. */
interface FinishedAction {
  open: OpenEntry;
  close: CloseEntry;
}

export interface LedgerDeps {
  storage: Storage;
  redactor: Redactor;
  /** Key store for the signing key; without one, heads are not signed and `degraded` reports it. */
  secrets?: Secrets;
  log?: Log;
  /** Folder of the shipped settings, overridden by those in the data folder; without it, the defaults apply. */
  configDir?: string;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Creates the ledger of one data folder. Several hosts may append concurrently: each append reads the head inside `BEGIN IMMEDIATE`.
 * Its methods throw `unavailable` when SQLite cannot write; then nothing was recorded.
 */
export function createLedger(deps: LedgerDeps): Ledger {
  const { storage, redactor } = deps;
  const { db, dataDir } = storage;
  const now = deps.now ?? Date.now;
  const log = deps.log ?? (() => undefined);
  const ledgerId = db.prepare<[], string>("SELECT ledger_id FROM ledger_identity").pluck().get() ?? "";
  const keys = deps.secrets === undefined ? null : createSigningKeys({ secrets: deps.secrets, storage, ledgerId, now });
  const signer = createHeadSigner({ storage, ledgerId, keys, now, log });
  const projection = createProjection(storage);
  const textIndex = createTextIndex(storage);
  const listeners = new Set<(receipt: Receipt) => void>();
  /** Finished T0 actions that are not written yet. */
  let batch: FinishedAction[] = [];
  let timer: NodeJS.Timeout | null = null;
  let isChecked = false;
  /** Receipts that this host opened and has not closed, valid for data version `seen` (SQLite's counter of other connections' writes). */
  const opened = new Map<string, { entry: OpenEntry; written: boolean }>();
  let seen = -1;

  const appendEntries = createAppend(db);
  const dataVersion = db.prepare<[], number>("PRAGMA data_version").pluck();
  const openOfHosts = db.prepare<[], { id: string; host_id: string }>(
    "SELECT id, host_id FROM receipts WHERE close_seq IS NULL ORDER BY open_seq",
  );

  /** Appends inside the current transaction; returns the rows in order. */
  const append = (entries: readonly Entry[]): EntryRow[] => {
    const rows = appendEntries(entries);
    signer.onAppend(rows.at(-1)?.seq ?? 0);
    return rows;
  };

  const notify = (receipts: readonly Receipt[]): void => {
    for (const receipt of receipts) {
      for (const listener of listeners) {
        try {
          listener(receipt);
        } catch (error) {
          // The receipt is written, so a failing listener must not fail its action.
          process.emitWarning(error instanceof Error ? error : String(error));
        }
      }
    }
  };

  const writeBatch = (): void => {
    if (batch.length === 0) return;
    const due = batch;
    batch = [];
    let rows: EntryRow[] = [];
    storage.afterTransaction((committed) => {
      if (!committed) batch = [...due, ...batch];
      else if (listeners.size > 0) notify(due.map(({ open, close }, index) => toReceipt(open, close, rows[index * 2 + 1] ?? notWritten())));
    });
    rows = append(due.flatMap(({ open, close }) => [open, close]));
  };

  const flush = (): void => {
    if (batch.length > 0) storage.transaction(writeBatch);
  };

  const tick = (): void => {
    timer = null;
    if (!db.open) return;
    if (!storage.isWritable()) return schedule();
    try {
      flush();
      isChecked ||= projection.repair(perTick.checked);
      if (!projection.advance(perTick.projected) || !textIndex.advance(perTick.indexed) || !isChecked) schedule(catchUpDelay);
    } catch {
      // The database is locked or the disk is full: the batch is kept and retried, and `open`, `record` and `flush` report the error.
      schedule();
    }
  };
  const schedule = (delay = batchDelay): void => {
    timer ??= setTimeout(tick, delay).unref();
  };

  const toOpen = (opening: ReceiptOpening): OpenEntry => {
    const at = now();
    return {
      actionName: boundText(opening.actionName, redactor, 500),
      actionType: opening.actionType,
      at,
      cognitionTier: opening.cognitionTier ?? "DETERMINISTIC",
      host: storage.hostId,
      id: newReceiptId(at),
      inputs: boundFields(opening.inputs, redactor),
      kind: "open",
      metadata: boundFields(opening.metadata, redactor),
      parentId: opening.parentId ?? null,
      questId: opening.questId ?? null,
      riskTier: opening.riskTier,
      seq: 0,
      v: 1,
    };
  };

  const toClose = (id: string, closing: ReceiptClosing, durationMs: number): CloseEntry => ({
    at: now(),
    durationMs,
    errorMessage: typeof closing.errorMessage === "string" ? boundText(closing.errorMessage, redactor, 4_000) : null,
    id,
    kind: "close",
    metadata: boundFields(closing.metadata, redactor),
    outputs: boundFields(closing.outputs, redactor),
    seq: 0,
    status: closing.status,
    tokenCount: closing.tokenCount ?? null,
    v: 1,
  });

  const appendOne = (entry: Entry, receipt: (row: { hash: string; prev_hash: string }) => Receipt): Receipt => {
    const row = append([entry])[0] ?? notWritten();
    const result = receipt(row);
    storage.afterTransaction((committed) => {
      if (committed) notify([result]);
    });
    schedule();
    return result;
  };

  /** Finds the opening entry of a receipt that can be closed. Call it inside the current transaction. */
  const openingOf = (id: string): { entry: OpenEntry; written: boolean } => {
    const version = dataVersion.get() ?? 0;
    if (version !== seen) {
      // Another host wrote: receipts that it closed are in the derived table once that is up to date.
      seen = version;
      projection.settle();
      for (const other of opened.keys()) if (projection.find(other)?.close_seq !== null) opened.delete(other);
    }
    const known = opened.get(id);
    if (known !== undefined) return known;
    projection.settle();
    const row = projection.find(id);
    if (row === null) throw new LancelotError("not_found", `There is no receipt ${id.slice(0, 200)}.`);
    if (row.close_seq !== null) throw new LancelotError("conflict", `The receipt ${id} is already closed.`);
    return { entry: readEntry(OpenEntry, row.open_body) ?? throwDamaged(), written: true };
  };

  /** Closes a receipt inside the current transaction. */
  const closeNow = (id: string, closing: ReceiptClosing): Receipt => {
    const open = openingOf(id);
    const close = toClose(id, closing, Math.max(0, now() - open.entry.at));
    opened.delete(id);
    storage.afterTransaction((committed) => {
      // Rolled back: the receipt is open again, unless its opening was rolled back too.
      if (!committed && open.written) opened.set(id, open);
    });
    return appendOne(close, (last) => toReceipt(open.entry, close, last));
  };

  const openNow = (entry: OpenEntry): void => {
    const open = { entry, written: false };
    opened.set(entry.id, open);
    storage.afterTransaction((committed) => {
      if (committed) open.written = true;
      else opened.delete(entry.id);
    });
    appendOne(entry, (row) => toReceipt(entry, null, row));
  };

  isChecked = projection.repair(perTick.checked);
  if (!isChecked) schedule();
  storage.beforeClose(() => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    flush();
  });

  const catchUp: Ledger["catchUp"] = async (filter, signal) => {
    flush();
    const isBehind = (): boolean =>
      !projection.advance(perTick.projected) || (usesTextIndex(filter) && !textIndex.advance(perTick.indexed));
    while (db.open && isBehind()) {
      await setImmediate();
      if (signal?.aborted === true) throw new LancelotError("cancelled", "The search was canceled.");
    }
  };

  const search: Ledger["search"] = (filter) => {
    flush();
    projection.settle();
    if (usesTextIndex(filter)) while (!textIndex.advance(1_000));
    const page = searchReceipts(db, filter);
    const sealed = page.nextCursor === undefined ? sealedSpan(db) : null;
    if (sealed === null || (filter.from !== undefined && Date.parse(filter.from) > sealed.until)) return page;
    return { ...page, sealed: { entries: sealed.entries, until: new Date(sealed.until).toISOString() } };
  };
  const get: Ledger["get"] = (id) => {
    flush();
    projection.settle();
    const row = projection.find(id);
    return row === null ? null : receiptOfRow(row);
  };

  const ledger: Ledger = {
    open: (opening) => {
      const open = toOpen(opening);
      storage.transaction(() => {
        writeBatch();
        openNow(open);
      });
      return open.id;
    },
    close: (id, closing) =>
      storage.transaction(() => {
        writeBatch();
        return closeNow(id, closing);
      }),
    record: (opening, closing) => {
      // Flushed before adding, so that a ledger that cannot write refuses the receipt and the batch does not grow.
      if (batch.length >= batchSize) flush();
      const open = toOpen(opening);
      batch.push({ open, close: toClose(open.id, closing, Math.max(0, closing.durationMs ?? 0)) });
      schedule();
      return open.id;
    },
    ready: (signal) => storage.whenWritable(signal),
    flush,
    get,
    find: async (id) => get(id) ?? (await findSealed(db, dataDir, id)),
    seal: async (signal) => {
      flush();
      return retention.seal(signal);
    },
    catchUp,
    search,
    trace: (of) => {
      flush();
      projection.settle();
      return traceReceipts(db, of);
    },
    verify: async (signal, progress) => {
      flush();
      const facts = await signer.facts();
      return verifyLedger(db, { dataDir, ledgerId, facts }, { signal, progress });
    },
    export: async (filter, signal) => {
      flush();
      await signer.sign();
      const { questId, from, to } = filter;
      if (filter.format !== "ledger") await catchUp({ questId, from, to, limit: 1 }, signal);
      const { keys } = await signer.facts();
      return exportReceipts({ db, dataDir, ledgerId, keys, now, search }, filter, signal);
    },
    sign: async () => {
      flush();
      return signer.sign();
    },
    rotateKey: () =>
      withReceipt(ledger, { actionType: "system", actionName: "receipts.rotateKey", inputs: {}, riskTier: "T3" }, () => signer.rotate()),
    degraded: () => signer.degraded() ?? retention.problem(),
    configProblem: () => retention.configProblem(),
    end: async () => {
      await retention.end();
      flush();
      await signer.end();
    },
    reconcile: () =>
      storage.transaction(() => {
        projection.settle();
        const dead = new Map<string, boolean>();
        const isDead = (host: string): boolean => {
          const known = dead.get(host) ?? !storage.hostAlive(host);
          dead.set(host, known);
          return known;
        };
        const orphans = openOfHosts.all().filter((row) => isDead(row.host_id));
        for (const { id } of orphans) closeNow(id, { status: "failure", errorMessage: "Lancelot stopped before this action finished." });
        return orphans.length;
      }),
    onReceipt: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const retention = createRetention({
    storage,
    now,
    log,
    configDir: deps.configDir ?? null,
    advance: projection.advance,
    sign: signer.sign,
    ledger,
  });
  return ledger;
}

function notWritten(): never {
  throw new LancelotError("internal", "An entry of the ledger was not written.");
}

function throwDamaged(): never {
  throw damagedLedger();
}
