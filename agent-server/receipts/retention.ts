import { LancelotError } from "../contract/errors.ts";
import type { Log } from "../security/security.ts";
import { createLayeredConfig, type Storage } from "../storage/storage.ts";
import type { Ledger } from "./types.ts";
import { createSealing, type SealingDeps } from "./sealing.ts";
import type { Segment } from "./segment-file.ts";
import { RetentionSettings } from "./retention-settings.ts";

/** Delay of the first check after the start, and interval between checks (ms). */
const firstCheckMs = 90_000;
const checkIntervalMs = 3_600_000;

/** Seals entries past their retention time (config/receipts.yaml), periodically and on request. */
export interface Retention {
  seal(signal?: AbortSignal): Promise<{ segments: number; entries: number }>;
  /** User-facing reason why old entries are not sealed; null when they are. */
  problem(): string | null;
  /** Why the owner's config/receipts.yaml is not used; null when it is, or there is none. */
  configProblem(): string | null;
  /** Stops, also in the middle of a sealing, which the next check continues. */
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

  const file = createLayeredConfig({
    configDir: deps.configDir,
    dataDir: storage.dataDir,
    name: "receipts.yaml",
    schema: RetentionSettings,
    consequence: "No receipts are sealed until you correct it.",
  });
  const configProblem = (): string | null => file.read().problem;

  const record: SealingDeps["record"] = async ({ from, to }, work): Promise<Segment> => {
    const id = ledger.open({ actionType: "system", actionName: "receipts.seal", inputs: { from, to }, riskTier: "T1" });
    try {
      const segment = await work();
      ledger.close(id, { status: "success", outputs: { file: segment.file, sha256: segment.sha256, bytes: segment.bytes } });
      return segment;
    } catch (error) {
      const known = error instanceof LancelotError ? error : null;
      // On shutdown the database may be closed already; the next host closes the receipt.
      if (storage.db.open)
        ledger.close(id, {
          status: known?.code === "cancelled" ? "cancelled" : "failure",
          errorMessage: known?.message ?? "The sealed file could not be written.",
        });
      throw error;
    }
  };

  const sealing = createSealing({ storage, settings: () => file.read().value, now, advance: deps.advance, sign: deps.sign, record });

  const seal: Retention["seal"] = async (signal) => {
    // How long the owner wants entries to stay in the database is unknown.
    if (configProblem() !== null) return { segments: 0, entries: 0 };
    const turn = running.then(() => sealing.run(signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])));
    running = turn.catch(() => undefined);
    return turn;
  };

  const check = async (): Promise<void> => {
    try {
      const { segments, entries } = await seal();
      problem = null;
      if (segments > 0) log(`sealed ${entries} old ledger entries into ${segments} files`);
    } catch (error) {
      if (error instanceof LancelotError && error.code === "cancelled") return;
      problem = `Old receipts are not sealed: ${error instanceof LancelotError ? error.message : "their file could not be written."}`;
      log("could not seal old ledger entries", error);
    }
    timer = stop.signal.aborted ? null : setTimeout(() => void check(), checkIntervalMs).unref();
  };
  let timer: NodeJS.Timeout | null = setTimeout(() => void check(), firstCheckMs).unref();
  const clear = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    stop.abort();
  };
  storage.beforeClose(clear);

  return {
    seal,
    problem: () => configProblem() ?? problem,
    configProblem,
    end: async () => {
      clear();
      await running;
    },
  };
}
