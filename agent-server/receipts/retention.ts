import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import type { Storage } from "../storage/storage.ts";
import type { Ledger } from "./receipts.ts";
import { createSealing, type SealingDeps } from "./sealing.ts";
import type { Segment } from "./segment-file.ts";
import { readSettings, RetentionSettings } from "./settings.ts";

/** Milliseconds after the start, and between two looks. */
const scanBefore = 90_000;
const everyLook = 3_600_000;

/** Seals by itself what is past its time (config/receipts.yaml). */
export interface Retention {
  seal(signal?: AbortSignal): Promise<{ segments: number; entries: number }>;
  /** Why old entries are not sealed, for the owner; null when they are. */
  problem(): string | null;
  /** Stops, also in the middle: the next look goes on from there. */
  end(): Promise<void>;
}

export function createRetention(deps: {
  storage: Storage;
  now: () => number;
  log: Log;
  configDir: string | null;
  advance: SealingDeps["advance"];
  sign: SealingDeps["sign"];
  ledger: Pick<Ledger, "open" | "close">;
}): Retention {
  const { storage, now, log, ledger } = deps;
  const stop = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  let problem: string | null = null;

  const settings = (): RetentionSettings => {
    const read = readSettings(RetentionSettings, { configDir: deps.configDir, dataDir: storage.dataDir, file: "receipts.yaml" });
    problem = read.problem;
    return read.settings;
  };

  const record: SealingDeps["record"] = async ({ from, to }, work): Promise<Segment> => {
    const id = ledger.open({ actionType: "system", actionName: "receipts.seal", inputs: { from, to }, riskTier: "T1" });
    try {
      const segment = await work();
      ledger.close(id, { status: "success", outputs: { file: segment.file, sha256: segment.sha256, bytes: segment.bytes } });
      return segment;
    } catch (error) {
      const known = error instanceof LancelotError ? error : null;
      // A host that ends in the middle has closed its database; the next one closes the receipt.
      if (storage.db.open)
        ledger.close(id, {
          status: known?.code === "cancelled" ? "cancelled" : "failure",
          errorMessage: known?.message ?? "The sealed file could not be written.",
        });
      throw error;
    }
  };

  const sealing = createSealing({ storage, settings, now, advance: deps.advance, sign: deps.sign, record });

  const seal: Retention["seal"] = (signal) => {
    const turn = running.then(() => sealing.run(signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])));
    running = turn.catch(() => undefined);
    return turn;
  };

  const look = async (): Promise<void> => {
    try {
      const { segments, entries } = await seal();
      if (segments > 0) log(`${entries} old entries of the ledger were sealed into ${segments} files`);
    } catch (error) {
      if (error instanceof LancelotError && error.code === "cancelled") return;
      problem = `Old receipts are not sealed: ${error instanceof LancelotError ? error.message : "their file could not be written."}`;
      log("old entries of the ledger were not sealed", error);
    }
    timer = stop.signal.aborted ? null : setTimeout(() => void look(), everyLook).unref();
  };
  let timer: NodeJS.Timeout | null = setTimeout(() => void look(), scanBefore).unref();
  const clear = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    stop.abort();
  };
  storage.beforeClose(clear);

  return {
    seal,
    problem: () => problem,
    end: async () => {
      clear();
      await running;
    },
  };
}
