import { LancelotError } from "../contract/errors.ts";
import type { EditMode, Mode } from "../contract/governance.ts";
import type { Handlers } from "../contract/table.ts";
import { asksForCrusader } from "./crusader.ts";
import { hostCommandIn } from "./host-commands.ts";
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
  | "quests.edits"
  | "quests.export"
  | "quests.delete"
  | "commands.list"
>;

/** Implements the quest methods of the contract. Crusader mode approves edits in advance, so it requires the owner token. */
export function chatHandlers(quests: Quests): ChatHandlers {
  const requireOwnerForCrusader = (crusader: boolean, owner: boolean): void => {
    if (crusader && !owner)
      throw new LancelotError(
        "unauthorized",
        "Crusader mode approves edits in advance, so it requires the owner token. Send the message without crusader mode.",
      );
  };
  const requireOwnerForEdits = (mode: Mode | EditMode | undefined, owner: boolean): void => {
    if ((mode === "auto" || mode === "review") && !owner)
      throw new LancelotError(
        "unauthorized",
        "This mode decides about the review of edits, so it requires the owner token. Send the message without a mode.",
      );
  };
  const requireOwnerForUndo = (text: string, owner: boolean): void => {
    if (hostCommandIn(text) === "undo" && !owner)
      throw new LancelotError("unauthorized", "Undoing the changes of a task requires the owner token.");
  };
  return {
    "chat.send": (params, { owner }) => {
      requireOwnerForUndo(params.text, owner);
      requireOwnerForCrusader(params.mode === "crusader" || asksForCrusader(params.text), owner);
      requireOwnerForEdits(params.mode, owner);
      return quests.send(params, owner);
    },
    "chat.cancel": ({ questId }) => quests.cancel(questId),
    "chat.steer": ({ questId, text }, { owner }) => {
      requireOwnerForUndo(text, owner);
      requireOwnerForCrusader(asksForCrusader(text), owner);
      return quests.steer(questId, text, owner);
    },
    "chat.answer": ({ questId, callId, answer }) => {
      quests.answer(questId, callId, answer);
      return { ok: true };
    },
    "chat.run": (params, { owner, signal }) => {
      requireOwnerForUndo(params.message, owner);
      requireOwnerForCrusader(params.crusader_mode || asksForCrusader(params.message), owner);
      return quests.run(params, signal, owner);
    },
    "quests.list": (params) => quests.list(params),
    "quests.get": ({ id }) => quests.get(id),
    "quests.resume": ({ id }) => quests.resume(id),
    "quests.rename": ({ id, title }) => quests.rename(id, title),
    "quests.edits": ({ id, edits }) => quests.edits(id, edits),
    "quests.override": ({ id, override }) => quests.override(id, override),
    "quests.export": ({ id }) => ({ markdown: quests.exportMarkdown(id) }),
    "commands.list": () => quests.commands(),
    "quests.delete": async ({ id }) => {
      await quests.delete(id);
      return { ok: true };
    },
  };
}
