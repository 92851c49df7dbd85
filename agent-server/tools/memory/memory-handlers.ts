import type { CallContext, Handlers, Params } from "../../contract/table.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Memory } from "../../memory/memory.ts";
import type { Tools } from "../tools.ts";
import type { MemoryCaller } from "./memory-action.ts";
import type { MemoryService } from "./memory-service.ts";

type Names = Extract<keyof Handlers, `memory.${string}`>;

export interface MemoryHandlersDeps {
  readonly memory: Memory;
  readonly tools: Pick<Tools, "memory">;
  /** @throws LancelotError `disabled` while the flag MEMORY_VNEXT is off. */
  readonly require: () => void;
}

/** The methods of memory: looks go straight to it, what changes something takes the road. */
export function memoryHandlers({ memory, tools, require }: MemoryHandlersDeps): Pick<Handlers, Names> {
  const room = (): Memory => {
    require();
    return memory;
  };
  const byRoad = (): MemoryService => {
    require();
    if (tools.memory === null) throw new LancelotError("unavailable", "The tools were made without a memory.");
    return tools.memory;
  };
  const calling = ({ owner, signal }: CallContext, questId: string | null = null): MemoryCaller => ({
    ...{ by: owner ? "owner" : "agent", questId, parentId: null, signal },
  });
  /** Whoever goes on with a commit does it for the task it was begun for. */
  const inCommit = (call: CallContext, commitId: string | undefined): MemoryCaller =>
    calling(call, commitId === undefined ? null : memory.staged(commitId).author.questId);

  return {
    "memory.status": () => room().status(),
    "memory.core": () => ({ blocks: room().core() }),
    "memory.search": (params) => room().search(params),
    "memory.item": ({ id }) => room().item(id),
    "memory.commits": (params) => room().commits(params),
    "memory.compile": ({ objective, questId, mode, maxTokens }) => room().compile({ objective, questId: questId ?? null, mode, maxTokens }),
    "memory.contexts": (params) => room().contexts(params),
    "memory.context": ({ id }) => room().context(id),
    "memory.quarantine": (params) => ({ items: room().quarantine(params) }),
    "memory.jobs": () => ({ items: room().jobs() }),
    "memory.begin": (params, call) => byRoad().begin(params, calling(call, params.questId ?? null)),
    "memory.edit": (params, call) => byRoad().edit(params, inCommit(call, params.commitId)),
    "memory.finish": ({ commitId }, call) => byRoad().finish(commitId, inCommit(call, commitId)),
    "memory.abandon": ({ commitId }, call) => byRoad().abandon(commitId, inCommit(call, commitId)),
    "memory.rollback": (wish, call) => byRoad().rollback(wish, calling(call)),
    "memory.promote": ({ id, reason }, call) => byRoad().promote(id, reason ?? null, calling(call)),
    "memory.deny": ({ id, reason }, call) => byRoad().deny(id, reason ?? null, calling(call)),
    "memory.setAside": ({ id, reason }, call) => byRoad().setAside(id, reason, calling(call)),
    "memory.remember": (params, call) => byRoad().remember(params, calling(call, params.questId ?? null)),
    "memory.forget": (params: Params<"memory.forget">, call) => byRoad().forget(params, calling(call, params.questId ?? null)),
    "memory.export": ({ format }, call) => byRoad().export(format, calling(call)),
    "memory.import": (params, call) => byRoad().import(params, calling(call)),
    "memory.runJob": ({ name }, call) => byRoad().runJob(name, calling(call)),
  };
}
