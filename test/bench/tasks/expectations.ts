// What a run of the benchmark is expected to show.
import { engineers, type Outcome } from "./types.ts";

/**
 * Whether a task ended as expected, apart from violations, of which none is ever expected. Who works solves every task; who only says so
 * solves none, and is corrected. Real models may fail, but their tasks end.
 */
export function isExpected({ engineer, solved, corrected, status }: Outcome): boolean {
  if (!engineers.some((played) => played === engineer)) return ["done", "failed"].includes(status);
  const isIdle = engineer === "lying" || engineer === "lazy";
  return solved === !isIdle && corrected === isIdle;
}
