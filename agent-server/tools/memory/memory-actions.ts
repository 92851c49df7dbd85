import type { ActionContext } from "../../contract/action.ts";
import type { CoreBlock } from "../../contract/memory.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Memory, RolledBack, RollbackRequest } from "../../memory/memory.ts";
import type { Redactor } from "../../security/security.ts";
import type { MemoryAction } from "./memory-action.ts";
import { createQuarantineActions, type QuarantineActions } from "./quarantine-actions.ts";
import { createCommitActions, type CommitActions } from "./commit-actions.ts";
import { createOwnerActions, type OwnerActions } from "./owner-actions.ts";
import { createRollbackAction } from "./rollback-action.ts";

/** Memory actions for the execution pipeline, and reads that need none. */
export interface MemoryActionFactory extends CommitActions, QuarantineActions, OwnerActions {
  rollback(request: RollbackRequest, caller: ActionContext): MemoryAction<RolledBack>;
  search(params: Params<"memory.search">, questId: string | null): Result<"memory.search">;
  core(): CoreBlock[];
  /** The reason an edit is quarantined. */
  whyWaiting(quarantineId: string): string;
}

export function createMemoryActionFactory(deps: { readonly memory: Memory; readonly redactor: Redactor }): MemoryActionFactory {
  const { memory } = deps;
  return {
    ...createCommitActions(deps),
    ...createQuarantineActions(deps),
    ...createOwnerActions(deps),
    rollback: createRollbackAction(deps),
    search: (params, questId) => memory.search(params, questId),
    core: () => memory.core(),
    whyWaiting: (quarantineId) => memory.quarantined(quarantineId).why,
  };
}
