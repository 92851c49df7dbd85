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
