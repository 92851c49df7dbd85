import type { Usage } from "../../contract/chat.ts";
import type { ProviderKind } from "../../contract/models.ts";
import type { Lane } from "../../contract/router.ts";
import type { Params, Result } from "../../contract/table.ts";

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
}

/** What models used and what it cost (M7). */
export interface UsageBook {
  /** @throws LancelotError `denied`, `data.reason: "cap"`, when the call could pass a cap: it must not be made. */
  admit(next: NextCall): void;
  /** Counts a call that was made. `costUsd` is null for a model without a price. */
  count(call: CountedCall): { costUsd: number | null };
  /** US dollars of a quest so far; null before its first call. */
  questCost(questId: string): number | null;
  summary(params: Params<"usage.summary">): Result<"usage.summary">;
  lanes(params: Params<"usage.lanes">): Result<"usage.lanes">;
  savings(params: Params<"usage.savings">): Result<"usage.savings">;
  reset(): Result<"usage.reset">;
  setCaps(caps: Params<"usage.setCaps">): Result<"usage.setCaps">;
}
