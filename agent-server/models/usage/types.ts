import type { Usage } from "../../contract/chat.ts";
import type { Emit } from "../../contract/events.ts";
import type { ProviderKind } from "../../contract/models.ts";
import type { Lane } from "../../contract/router.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Storage } from "../../storage/storage.ts";

/** The known facts of a model call before it is made. */
export interface NextCall {
  questId: string | null;
  /** Name in models.yaml. */
  provider: string;
  kind: ProviderKind;
  model: string;
  /** Input tokens, estimated on the high side, and the limit of the answer. */
  inputTokens: number;
  maxTokens: number;
  /** Whether it runs on this machine (embedded, or a server at a loopback address): free unless the user's price table says otherwise. */
  onThisMachine?: boolean;
}

/** The amount a call reserves under the caps from its admission until it is counted or fails. */
export interface Admission {
  readonly id: string;
  /** Releases the reservation. Must always be called (`finally`); after `count`, and a second time, it does nothing. */
  release(): void;
}

/** A completed model call with the provider's own figures. */
export interface CountedCall {
  questId: string | null;
  provider: string;
  kind: ProviderKind;
  model: string;
  lane: Lane;
  usage: Usage;
  receiptId: string | null;
  onThisMachine?: boolean;
}

/** Token usage and cost of models (M7). */
export interface UsageBook {
  /**
   * Reserves the maximum cost of a call under the caps, across windows.
   * @throws LancelotError `denied`, `data.reason: "cap"`, when the call could exceed a cap: it must not be made
   */
  admit(next: NextCall): Admission;
  /** Counts a completed call and releases its reservation. `costUsd` is null for a model without a price. */
  count(call: CountedCall, admission?: Admission): { costUsd: number | null };
  /** Cost of a quest so far (US dollars); null before its first call. */
  questCost(questId: string): number | null;
  summary(params: Params<"usage.summary">): Result<"usage.summary">;
  lanes(params: Params<"usage.lanes">): Result<"usage.lanes">;
  savings(params: Params<"usage.savings">): Result<"usage.savings">;
  reset(): Result<"usage.reset">;
  setCaps(caps: Params<"usage.setCaps">): Result<"usage.setCaps">;
  /** Emits an event when another window or the user's editor changed caps or prices. Cheap: it checks two files. */
  notice(): void;
  /** Why the user's files are not used; null for each that is, or is missing. */
  configProblems(): Record<"usage.yaml" | "prices.yaml", string | null>;
  close(): void;
}

export interface UsageDeps {
  storage: Pick<Storage, "db" | "transaction" | "hostId" | "hostAlive">;
  /** The shipped `config/` folder. */
  configDir: string;
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  emit: Emit;
  /** The title of a quest; null for a deleted one. */
  questName(questId: string): string | null;
  /** IANA name; this machine's by default. */
  timeZone?: string;
  now?: () => Date;
}
