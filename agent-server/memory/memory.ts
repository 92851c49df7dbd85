// The public interface of memory: other modules import this file alone.
export type { CompileQuery, Memory, MemoryActions, MemoryDeps, RecallQuests } from "./types.ts";
export type { Finished, RollbackRequest, RolledBack } from "./commit-types.ts";
export type { Author, Evidence, Timeline, TimelineMessage } from "./item-types.ts";
export { createMemory } from "./create-memory.ts";
export { withoutQuotations } from "./quest/owner-command-forms.ts";
export { createOwnerCommands } from "./quest/owner-commands.ts";
export { proposeFromQuest, type QuestProposals } from "./quest/quest-proposals.ts";
export { createQuestRecall, type QuestRecall, type RunMemory } from "./quest/quest-recall.ts";
export { startMaintenance } from "./memory-maintenance.ts";
export { memoryMigrations } from "./migrations.ts";
