import type { ActionContext } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Decision } from "../../contract/governance.ts";
import type { MemoryItem } from "../../contract/memory.ts";
import type { Params, Result } from "../../contract/table.ts";
import type { Memory, RollbackRequest } from "../../memory/memory.ts";
import type { ExecutionPipeline } from "../../execution/execution.ts";
import { type MemoryAction, memoryProvider } from "./memory-action.ts";
import type { MemoryActionFactory } from "./memory-actions.ts";
import { verifyAfter } from "./verify-commit.ts";

/**
 * Memory actions outside the tools: contract methods, the owner's chat commands, and proposals at the end of a task. Each goes through
 * the execution pipeline. Actions of the owner need no approval, but a denial holds; policy may ask about the agent's.
 * @throws LancelotError of governance (one receipt, a failure) and of memory
 */
export interface MemoryService {
  begin(params: Params<"memory.begin">, caller: ActionContext): Promise<Result<"memory.begin">>;
  edit(params: Params<"memory.edit">, caller: ActionContext): Promise<Result<"memory.edit">>;
  finish(commitId: string, caller: ActionContext): Promise<Result<"memory.finish">>;
  abandon(commitId: string, caller: ActionContext): Promise<Result<"memory.abandon">>;
  rollback(request: RollbackRequest, caller: ActionContext): Promise<Result<"memory.rollback">>;
  promote(id: string, reason: string | null, caller: ActionContext): Promise<Result<"memory.promote">>;
  deny(id: string, reason: string | null, caller: ActionContext): Promise<Result<"memory.deny">>;
  quarantineItem(id: string, reason: string, caller: ActionContext): Promise<Result<"memory.setAside">>;
  remember(params: Params<"memory.remember">, caller: ActionContext): Promise<Result<"memory.remember">>;
  /** Deletes the item that clearly matches; otherwise returns the candidates and changes nothing. */
  forget(params: Params<"memory.forget">, caller: ActionContext): Promise<Result<"memory.forget">>;
  export(format: Params<"memory.export">["format"], caller: ActionContext): Promise<Result<"memory.export">>;
  import(params: Params<"memory.import">, caller: ActionContext): Promise<Result<"memory.import">>;
  runJob(name: Params<"memory.runJob">["name"], caller: ActionContext): Promise<Result<"memory.runJob">>;
}

const actionTypes = { owner: "user_interaction", agent: "tool_call", system: "system" } as const;

export function createMemoryService({
  memory,
  actions,
  pipeline,
}: {
  readonly memory: Memory;
  readonly actions: MemoryActionFactory;
  readonly pipeline: Pick<ExecutionPipeline, "execute">;
}): MemoryService {
  async function carry<T>(action: MemoryAction<T>, caller: ActionContext): Promise<T> {
    let made: { value: T } | null = null;
    let asks: Decision | undefined;
    const { value } = await pipeline.execute<T>({
      ...caller,
      actionType: actionTypes[caller.actor],
      actionName: action.name,
      inputs: action.inputs,
      steps: action.steps,
      question: action.question,
      consent: caller.actor === "agent" ? "ask" : "review",
      touches: [],
      provider: memoryProvider,
      onDecided: (decisions) => {
        asks = decisions.find(({ verdict }) => verdict === "ask");
      },
      run: async ({ receiptId }) => {
        if (caller.actor === "system" && asks !== undefined) throw approvalUnavailable(asks);
        made = { value: await action.run(receiptId) };
        return { value: made.value, outputs: action.outputs(made.value) };
      },
      ...(action.verify === undefined ? {} : { verify: () => Promise.resolve(made === null ? null : verifyAfter(action, made.value)) }),
    });
    return value;
  }

  function find(params: Params<"memory.forget">): { item: MemoryItem | null; candidates: MemoryItem[] } {
    if (!("id" in params)) return memory.meant(params.text, params.questId ?? null);
    const { item } = memory.item(params.id);
    if (item === null) throw new LancelotError("not_found", `There is no item ${params.id}.`, { data: { id: params.id } });
    return { item, candidates: [] };
  }

  return {
    begin: ({ reason }, caller) => carry(actions.begin(reason, caller), caller),
    edit: (params, caller) => carry(actions.edit(params, caller), caller),
    async finish(commitId, caller) {
      const { diff, quarantined, receiptId } = await carry(actions.finish(commitId, caller), caller);
      return { commitId, diff: [...diff], quarantined: [...quarantined], receiptId };
    },
    abandon: (commitId, caller) => carry(actions.abandon(commitId, caller), caller),
    async rollback(request, caller) {
      const { commitId, rolledBack, diff } = await carry(actions.rollback(request, caller), caller);
      return { commitId, rolledBack: [...rolledBack], diff: [...diff] };
    },
    promote: (id, reason, caller) => carry(actions.promote(id, reason, caller), caller),
    deny: async (id, reason, caller) => ({ entry: await carry(actions.deny(id, reason, caller), caller) }),
    quarantineItem: (id, reason, caller) => carry(actions.quarantineItem(id, reason, caller), caller),
    remember: (params, caller) => carry(actions.remember(params, caller), caller),
    async forget(params, caller) {
      const { item, candidates } = find(params);
      return item === null ? { commitId: null, forgotten: null, candidates } : carry(actions.forget(item, caller), caller);
    },
    export: (format, caller) => carry(actions.export(format, caller), caller),
    import: (params, caller) => carry(actions.import(params, caller), caller),
    runJob: (name, caller) => carry(actions.runJob(name, caller), caller),
  };
}

/** The host never asks the owner about its own actions. */
function approvalUnavailable(decision: Decision): LancelotError {
  const why = decision.rules.map(({ message }) => message).join(" ");
  return new LancelotError("needs_approval", `Skipped because it requires approval: ${why}`, { data: { decision } });
}
