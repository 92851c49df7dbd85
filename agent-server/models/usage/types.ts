import type { Usage } from "../../contract/chat.ts";
import type { Emit } from "../../contract/events.ts";
import type { ProviderKind } from "../../contract/models.ts";
import type { Lane } from "../../contract/router.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Storage } from "../../storage/storage.ts";

/** A call of a model before it is made, as far as it can be known. */
export interface NextCall {
  questId: string | null;
  /** Name in models.yaml. */
  provider: string;
  kind: ProviderKind;
  model: string;
  /** Tokens of the prompt, estimated on the high side, and the most the answer may take. */
  inputTokens: number;
  maxTokens: number;
  /** It is computed on this machine (embedded, or a server at a loopback address): it costs nothing unless the owner's price table says so. */
  onThisMachine?: boolean;
}

/** The room a call holds under the caps from the moment it was admitted until it was counted or came to nothing. */
export interface Admission {
  readonly id: string;
  /** Gives the room back. To be called in any case (`finally`); after `count`, and a second time, it does nothing. */
  release(): void;
}

/** A call of a model that was made, with the provider's own figures. */
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

/** What models used and what it cost (M7). */
export interface UsageBook {
  /**
   * Holds room for a call under the caps, across windows, at the most it can cost.
   * @throws LancelotError `denied`, `data.reason: "cap"`, when the call could pass a cap: it must not be made.
   */
  admit(next: NextCall): Admission;
  /** Counts a call that was made and gives the room it held back. `costUsd` is null for a model without a price. */
  count(call: CountedCall, admission?: Admission): { costUsd: number | null };
  /** US dollars of a quest so far; null before its first call. */
  questCost(questId: string): number | null;
  summary(params: Params<"usage.summary">): Result<"usage.summary">;
  lanes(params: Params<"usage.lanes">): Result<"usage.lanes">;
  savings(params: Params<"usage.savings">): Result<"usage.savings">;
  reset(): Result<"usage.reset">;
  setCaps(caps: Params<"usage.setCaps">): Result<"usage.setCaps">;
  /** Tells of what another window or the owner's editor changed in the caps or the prices. Cheap: two looks at the disk. */
  notice(): void;
  close(): void;
}

export interface UsageDeps {
  storage: Pick<Storage, "db" | "transaction" | "hostId" | "hostAlive">;
  /** The shipped `config/` folder. */
  configDir: string;
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  emit: Emit;
  /** The title of a quest; null when it is gone. */
  questName(questId: string): string | null;
  /** IANA name; this machine's where absent. */
  timeZone?: string;
  now?: () => Date;
}
