import type { CoreBlock } from "../../contract/memory.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Memory, RolledBack, RollbackWish } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import type { MemoryAct, MemoryCaller } from "./memory-action.ts";
import { createMemoryDecisions, type MemoryDecisions } from "./quarantine-actions.ts";
import { createMemoryEdits, type MemoryEdits } from "./commit-actions.ts";
import { createOwnersWords, type OwnersWords } from "./owner-actions.ts";
import { createMemoryRollback } from "./rollback-action.ts";

/** Everything that can be done to memory, ready for the road, and the looks that need none of it. */
export interface MemoryActs extends MemoryEdits, MemoryDecisions, OwnersWords {
  rollback(wish: RollbackWish, caller: MemoryCaller): MemoryAct<RolledBack>;
  search(params: Params<"memory.search">, questId: string | null): Result<"memory.search">;
  core(): CoreBlock[];
  /** Why an edit waits in quarantine. */
  whyWaiting(quarantineId: string): string;
}

export function createMemoryActs(deps: { readonly memory: Memory; readonly redactor: Redactor }): MemoryActs {
  const { memory } = deps;
  return {
    ...createMemoryEdits(deps),
    ...createMemoryDecisions(deps),
    ...createOwnersWords(deps),
    rollback: createMemoryRollback(deps),
    search: (params, questId) => memory.search(params, questId),
    core: () => memory.core(),
    whyWaiting: (quarantineId) => memory.quarantined(quarantineId).why,
  };
}
