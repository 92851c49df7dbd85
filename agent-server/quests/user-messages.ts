import type { Attachment, Message, Part } from "../contract/chat.ts";
import { LancelotError } from "../contract/errors.ts";
import type { CustomCommands } from "../context/context.ts";
import type { Governance } from "../governance/governance.ts";
import type { Ledger } from "../receipts/receipts.ts";
import type { InjectionFinding, Redactor, Sanitizer } from "../security/security.ts";
import type { ChangeReview } from "../workspace/workspace.ts";
import { attachmentParts, findMentions, protectAttachment, requireOwnerForSecrets } from "./attachments.ts";
import { withoutCrusader } from "./crusader.ts";
import { findNamedFiles } from "./named-files.ts";
import { findContexts } from "./named-context.ts";
import { notice } from "./notices.ts";
import { userText, titleOf } from "./quest-page.ts";
import type { ExternalMessages } from "./external-messages.ts";
import type { QuestStore } from "./quest-store.ts";
import { expandSlashCommand } from "./slash-commands.ts";

interface Deps {
  store: QuestStore;
  changes: Pick<ChangeReview, "list" | "decide" | "takeReview">;
  governance: Governance;
  ledger: Ledger;
  redactor: Redactor;
  /** Replaces the secrets of a quest by placeholders that its file tools can resolve. */
  redactorOf: (questId: string) => Redactor;
  sanitizer: Sanitizer;
  externalMessages: ExternalMessages;
  customCommands: Pick<CustomCommands, "expand">;
}

/** Stores messages of the user with their attachments and mentioned files, finds them, and rewinds a quest to one. */
export interface UserMessages {
  /** @throws LancelotError `unauthorized` when the message attaches or mentions a secret file without the owner token. */
  requireAttachable(text: string, attached: readonly Attachment[], owner: boolean): void;
  /**
   * @param owner true when the message came with the owner token
   * @throws LancelotError `invalid_params` when the message begins with a custom command whose file cannot be used
   */
  add(questId: string, text: string, attached: readonly Attachment[], owner: boolean): Message;
  /** @throws LancelotError `not_found` unless it is a message of the user in this quest. */
  find(questId: string, messageId: string): Message;
  /** Removes a message and all later ones. @returns rejects the undecided changes that the removed messages proposed; call it afterwards */
  rewind(questId: string, from: Message, text: string): () => Promise<void>;
}

export function createUserMessages(deps: Deps): UserMessages {
  const { store, changes, governance, ledger, redactor, redactorOf, sanitizer, externalMessages, customCommands } = deps;
  return {
    requireAttachable(text, attached, owner) {
      if (owner) return;
      const named = attached.flatMap((one) => (one.type === "file" ? [one.path] : []));
      for (const path of [...named, ...findMentions(redactor.text(text).text, governance)]) requireOwnerForSecrets(governance, path, owner);
    },

    add(questId: string, text: string, attached: readonly Attachment[], owner: boolean): Message {
      const safe = redactor.text(text).text;
      const reversible = redactorOf(questId);
      const suspicious = sanitizer.inspect(text).findings;
      const mentioned = [...new Set([...findMentions(safe, governance), ...findNamedFiles(withoutCrusader(safe), governance)])].filter(
        (path) => !attached.some((one) => one.type === "file" && one.path === path),
      );
      const attachments = [
        ...attached.map((one) => protectAttachment(one, reversible)),
        ...mentioned.map((path) => ({ type: "file" as const, path })),
        ...findContexts(safe, mentioned).map((name) => ({ type: "context" as const, name })),
      ];
      const asked = withoutCrusader(reversible.text(text).text);
      const message = store.addMessage({
        questId,
        role: "user",
        parts: [...attachments.flatMap(attachmentParts), { type: "text", text: safe }, ...warning(suspicious, redactor)],
        turn: { kind: "user", content: [{ type: "text", text: expandSlashCommand(asked) ?? customCommands.expand(asked) ?? asked }] },
        ...(attachments.length === 0 ? {} : { attachments }),
      });
      if (!owner) externalMessages.add(message.id);
      if (suspicious.length > 0) {
        ledger.record(
          {
            actionType: "user_interaction",
            actionName: "message.suspicious",
            inputs: { messageId: message.id, injection: suspicious.map(({ rule }) => rule) },
            riskTier: "T0",
            questId,
            parentId: store.quest(questId).receiptId,
          },
          { status: "success" },
        );
      }
      return message;
    },

    find(questId: string, messageId: string): Message {
      const message = store.message(messageId)?.message;
      if (message?.questId !== questId || message.role !== "user" || userText(message) === "") {
        throw new LancelotError("not_found", "That message is no longer part of this task. Send it as a new one.");
      }
      return message;
    },

    rewind(questId: string, from: Message, text: string): () => Promise<void> {
      const removed = store.messages(questId).filter(({ message }) => message.seq >= from.seq);
      const made = new Set(
        removed.flatMap(({ message }) =>
          message.parts.flatMap((part) => (part.type === "tool" && part.changeId !== null ? [part.changeId] : [])),
        ),
      );
      store.removeFrom(questId, from.seq);
      const before = titleOf(userText(from));
      const automatic = from.seq === 0 && store.quest(questId).title === before;
      store.patch(questId, { plan: [], ...(automatic ? { title: titleOf(redactor.text(text).text) } : {}) });
      return async () => {
        for (const change of changes.list({ questId, open: true, limit: 500 })) {
          if (made.has(change.id)) await changes.decide(change.id, "reject");
        }
        // The model no longer sees these proposals, so it must not get their review.
        if (made.size > 0) changes.takeReview(questId);
      };
    },
  };
}

/** Warns about prompt injections in a message that the user may have pasted. The message is sent unchanged. */
function warning(suspicious: readonly InjectionFinding[], redactor: Redactor): Part[] {
  const [first] = suspicious;
  if (first === undefined) return [];
  const quoted = redactor.text(first.match).text;
  const excerpt = quoted === "" ? "" : ` (“${quoted.length > 80 ? `${quoted.slice(0, 80)}…` : quoted}”)`;
  return [
    notice(
      "warning",
      `This message may contain a prompt injection${excerpt}. It was sent unchanged. If you pasted it, check its source. Rules and approvals still apply.`,
    ),
  ];
}
