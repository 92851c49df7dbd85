// The public interface of memory: other modules import this file alone.
export type { CompileWish, Memory, MemoryDeps } from "./types.ts";
export type { Finished, RollbackWish, RolledBack, Staged } from "./commit-types.ts";
export type { Author, Evidence, ProposedEdit, Timeline, TimelineMessage } from "./item-types.ts";
export { createMemory } from "./create-memory.ts";
export { startMaintenance } from "./maintenance.ts";
export { memoryMigrations } from "./migrations.ts";
