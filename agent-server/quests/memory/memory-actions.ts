import type { MemoryActions } from "../../memory/memory.ts";
import type { MemoryCaller, MemoryService } from "../../tools/tools.ts";

/** The changes of memory that quests make, for one caller. */
export function memoryActions(service: MemoryService, caller: MemoryCaller): MemoryActions {
  return {
    begin: (params) => service.begin(params, caller),
    edit: (params) => service.edit(params, caller),
    finish: (commitId) => service.finish(commitId, caller),
    abandon: (commitId) => service.abandon(commitId, caller),
    forget: (params) => service.forget(params, caller),
  };
}
