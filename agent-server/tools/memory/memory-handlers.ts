import type { ActionContext } from "../../contract/action.ts";
import type { CallContext, Handlers, Params } from "../../contract/table.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Memory } from "../../memory/memory.ts";
import type { Tools } from "../types.ts";
import type { MemoryService } from "./memory-service.ts";

type Names = Extract<keyof Handlers, `memory.${string}`>;

export interface MemoryHandlersDeps {
  readonly memory: Memory;
  readonly tools: Pick<Tools, "memory">;
  /** @throws LancelotError `disabled` while the flag MEMORY_VNEXT is off. */
  readonly require: () => void;
}

/** The methods of memory: reads call it directly, changes go through the execution pipeline. */
export function memoryHandlers({ memory, tools, require }: MemoryHandlersDeps): Pick<Handlers, Names> {
  const enabledMemory = (): Memory => {
    require();
    return memory;
  };
  const service = (): MemoryService => {
    require();
    if (tools.memory === null) throw new LancelotError("unavailable", "The tools were made without a memory.");
    return tools.memory;
  };
  const calling = ({ owner, signal }: CallContext, questId: string | null = null): ActionContext => ({
    ...{ actor: owner ? "owner" : "agent", quest: questId, parent: null, mode: "normal", signal },
  });
  /** A commit is continued for the task it was begun for. */
  const inCommit = (call: CallContext, commitId: string | undefined): ActionContext =>
    calling(call, commitId === undefined ? null : memory.staged(commitId).author.questId);

  return {
    "memory.status": () => enabledMemory().status(),
    "memory.core": () => ({ blocks: enabledMemory().core() }),
    "memory.search": (params) => enabledMemory().search(params),
    "memory.item": ({ id }) => enabledMemory().item(id),
    "memory.commits": (params) => enabledMemory().commits(params),
    "memory.compile": ({ objective, questId, mode, maxTokens }) =>
      enabledMemory().compile({ objective, questId: questId ?? null, mode, maxTokens }),
    "memory.contexts": (params) => enabledMemory().contexts(params),
    "memory.context": ({ id }) => enabledMemory().context(id),
    "memory.quarantine": (params) => ({ items: enabledMemory().quarantine(params) }),
    "memory.jobs": () => ({ items: enabledMemory().jobs() }),
    "memory.begin": (params, call) => service().begin(params, calling(call, params.questId ?? null)),
    "memory.edit": (params, call) => service().edit(params, inCommit(call, params.commitId)),
    "memory.finish": ({ commitId }, call) => service().finish(commitId, inCommit(call, commitId)),
    "memory.abandon": ({ commitId }, call) => service().abandon(commitId, inCommit(call, commitId)),
    "memory.rollback": (request, call) => service().rollback(request, calling(call)),
    "memory.promote": ({ id, reason }, call) => service().promote(id, reason ?? null, calling(call)),
    "memory.deny": ({ id, reason }, call) => service().deny(id, reason ?? null, calling(call)),
    "memory.setAside": ({ id, reason }, call) => service().quarantineItem(id, reason, calling(call)),
    "memory.remember": (params, call) => service().remember(params, calling(call, params.questId ?? null)),
    "memory.forget": (params: Params<"memory.forget">, call) => service().forget(params, calling(call, params.questId ?? null)),
    "memory.export": ({ format }, call) => service().export(format, calling(call)),
    "memory.import": (params, call) => service().import(params, calling(call)),
    "memory.runJob": ({ name }, call) => service().runJob(name, calling(call)),
  };
}
