/** One figure of a benchmark: ours against the bare thing below it, measured in one run on one machine. */
export interface BenchRow {
  name: string;
  ours: number;
  bare: number;
  /** `ours / bare`. */
  ratio: number;
  unit: string;
  note?: string;
}

/** What `test/bench/one.ts` sends for each row, and for a bench that failed. */
export type BenchMessage = { row: BenchRow } | { failure: string };

/** Whether this is the run of under three minutes, which leaves large data, long rests and real models out. */
export const quick = process.env["LANCELOT_BENCH"] === "quick";
