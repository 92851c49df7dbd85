import { Tier } from "../contract/common.ts";

export interface CommandLine {
  words: string[];
  workspace: string;
  dataDir: string | undefined;
  port: number;
  /** Approves actions and edits up to this tier without asking; null for none. */
  yesTier: Tier | null;
  json: boolean;
  questId: string | undefined;
  /** The command's folder, for `policy explain`. */
  cwd: string | undefined;
  /** Download the local model without asking when no model is ready. */
  download: boolean;
  /** Options of `memory`: commits to roll back, the reason, and how to import a file. */
  last: string | undefined;
  reason: string | undefined;
  replace: boolean;
  dryRun: boolean;
}
