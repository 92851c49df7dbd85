import { LancelotError } from "../../contract/errors.ts";
import type { Handlers } from "../../contract/table.ts";
import type { Quests } from "../quests-interface.ts";

/** Implements the context methods of the contract. */
export function contextHandlers(
  quests: Pick<Quests, "context">,
): Pick<Handlers, "context.items" | "context.add" | "context.remove" | "context.compact"> {
  const { context } = quests;
  return {
    "context.items": ({ questId }) => context.items(questId),
    "context.add": ({ questId, ...item }, { owner }) => {
      if (questId === undefined)
        throw new LancelotError(
          "invalid_params",
          "Context belongs to a task. Pass the questId of one (quests.list), or start one with chat.send and attach the file to its message.",
        );
      return context.add({ questId, ...item }, owner);
    },
    "context.remove": ({ questId, path }) => context.remove(questId, path),
    "context.compact": ({ questId }, { signal }) => context.compact(questId, signal),
  };
}
