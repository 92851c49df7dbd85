import type { Handlers } from "../../contract/table.ts";
import type { Quests } from "../quests-interface.ts";

/** Implements the context methods of the contract. */
export function contextHandlers(
  quests: Pick<Quests, "context">,
): Pick<Handlers, "context.items" | "context.add" | "context.remove" | "context.compact"> {
  const { context } = quests;
  return {
    "context.items": ({ questId }) => context.items(questId),
    "context.add": (params, { owner }) => context.add(params, owner),
    "context.remove": ({ questId, path }) => context.remove(questId, path),
    "context.compact": ({ questId }, { signal }) => context.compact(questId, signal),
  };
}
