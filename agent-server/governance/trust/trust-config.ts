import * as z from "zod";
import { readTable } from "../config-table.ts";

const Count = z.int().min(1).max(1_000_000);

const TrustTable = z.strictObject({
  version: z.literal(1),
  successes: z.strictObject({ T3: Count, T2: Count, T1: Count }),
  cool_down: z.strictObject({ refused: Count, revoked: Count }),
  breaker: z.strictObject({ failures: Count, minutes: Count }),
  remember_days: Count,
});

/** The settings of `config/trust.yaml`. */
export type TrustConfig = z.output<typeof TrustTable>;

/** @throws LancelotError `internal` when the file is missing or malformed. */
export function loadTrustConfig(configDir: string): TrustConfig {
  return readTable(configDir, "trust.yaml", TrustTable);
}
