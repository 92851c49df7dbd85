export interface ProcessErrorOptions {
  /** Writes to the log at once. Must not throw. */
  log(message: string, error: unknown): void;
  /** Stops quests and writes pending receipts. */
  close(): Promise<void>;
  exit(code: number): void;
  /** How long (ms) `close` may take before the process exits anyway. */
  closeMs?: number;
}

/**
 * The last line of defense of a process that holds a host. After an uncaught error the state of the process is unknown, so the host
 * closes, which stops its quests and closes their receipts, and the process exits with 1. Whatever that could not write is repaired at the
 * next start. A promise that nobody handled is logged, because its failure belongs to one task only.
 * @returns removes the handlers
 */
export function handleProcessErrors({ log, close, exit, closeMs = 5_000 }: ProcessErrorOptions): () => void {
  let closing = false;
  const closeAndExit = async (): Promise<void> => {
    const timer = setTimeout(() => exit(1), closeMs);
    try {
      await close();
    } catch (failure) {
      log("the host could not close", failure);
    }
    clearTimeout(timer);
    exit(1);
  };
  const onError = (uncaught: unknown): void => {
    if (closing) {
      log("another uncaught error while the host closes", uncaught);
      return;
    }
    closing = true;
    log("uncaught error; the host closes", uncaught);
    void closeAndExit();
  };
  const onRejection = (reason: unknown): void => log("unhandled promise rejection", reason);
  process.on("uncaughtException", onError);
  process.on("unhandledRejection", onRejection);
  return () => {
    process.off("uncaughtException", onError);
    process.off("unhandledRejection", onRejection);
  };
}
