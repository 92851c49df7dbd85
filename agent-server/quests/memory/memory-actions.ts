import type { MemoryActions } from "../../memory/memory.ts";
import type { ActionContext } from "../../contract/action.ts";
import type { MemoryService } from "../../tools/tools.ts";

/** The changes of memory that quests make, for one caller. */
export function memoryActions(service: MemoryService, caller: ActionContext): MemoryActions {
  return {
    begin: (params) => service.begin(params, caller),
    edit: (params) => service.edit(params, caller),
    finish: (commitId) => service.finish(commitId, caller),
    abandon: (commitId) => service.abandon(commitId, caller),
    forget: (params) => service.forget(params, caller),
  };
}
