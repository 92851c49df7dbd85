import { LancelotError } from "../contract/errors.ts";
import type { Handlers } from "../contract/table.ts";
import { asksForCrusader } from "./crusader.ts";
import type { Quests } from "./quests-interface.ts";

type ChatHandlers = Pick<
  Handlers,
  | "chat.send"
  | "chat.cancel"
  | "chat.steer"
  | "chat.answer"
  | "chat.run"
  | "quests.list"
  | "quests.get"
  | "quests.resume"
  | "quests.rename"
  | "quests.override"
  | "quests.export"
  | "quests.delete"
>;

/** The contract's methods of quests. Crusader mode approves edits beforehand, so only the owner may ask for it. */
export function chatHandlers(orchestrator: Quests): ChatHandlers {
  const ownersOnly = (crusader: boolean, owner: boolean): void => {
    if (crusader && !owner)
      throw new LancelotError(
        "unauthorized",
        "Crusader mode approves edits beforehand, so it needs the owner token. Send the message without it.",
      );
  };
  return {
    "chat.send": (params, { owner }) => {
      ownersOnly(params.mode === "crusader" || asksForCrusader(params.text), owner);
      return orchestrator.send(params, owner);
    },
    "chat.cancel": ({ questId }) => orchestrator.cancel(questId),
    "chat.steer": ({ questId, text }, { owner }) => {
      ownersOnly(asksForCrusader(text), owner);
      return orchestrator.steer(questId, text, owner);
    },
    "chat.answer": ({ questId, callId, answer }) => {
      orchestrator.answer(questId, callId, answer);
      return { ok: true };
    },
    "chat.run": (params, { owner, signal }) => {
      ownersOnly(params.crusader_mode || asksForCrusader(params.message), owner);
      return orchestrator.run(params, signal, owner);
    },
    "quests.list": (params) => orchestrator.list(params),
    "quests.get": ({ id }) => orchestrator.get(id),
    "quests.resume": ({ id }) => orchestrator.resume(id),
    "quests.rename": ({ id, title }) => orchestrator.rename(id, title),
    "quests.override": ({ id, override }) => orchestrator.override(id, override),
    "quests.export": ({ id }) => ({ markdown: orchestrator.exportMarkdown(id) }),
    "quests.delete": async ({ id }) => {
      await orchestrator.delete(id);
      return { ok: true };
    },
  };
}
