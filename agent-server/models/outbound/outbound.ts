import { createHash } from "node:crypto";
import {
  isLoopbackHost,
  type PersonalRules,
  type PiiMatch,
  type Placeholders,
  type QuestPlaceholders,
  type Redactor,
} from "../../security/security.ts";
import type { ModelEvent, ModelRequest } from "../request.ts";
import { restoreEvents } from "./restore.ts";
import { asWritten, mapTexts, textsOf } from "./texts.ts";
import type { Candidate } from "../provider-selection.ts";

/** A request as a model may be told it, and the way back. */
export interface Outbound {
  readonly request: ModelRequest;
  /** How many values of each kind it hides; on the receipt of the call. */
  readonly hidden: Readonly<Record<string, number>>;
  /** The model's answer with personal data in its place, in words, thoughts and arguments of tools. Secrets stay hidden. */
  restore(events: AsyncIterable<ModelEvent>): AsyncIterable<ModelEvent>;
}

export interface OutboundDeps {
  /** Without them secrets are taken out for good, and personal data is not looked for. */
  placeholders: Placeholders | undefined;
  redactor: Redactor;
  /** What is looked for in what leaves this machine; nothing where absent. */
  personal: PersonalRules | undefined;
  /** Personal data in the owner's words that rules do not find, such as names a model on this machine finds. */
  more?: ((text: string, signal: AbortSignal) => Promise<PiiMatch[]>) | undefined;
}

export interface Destination {
  questId: string | null;
  /** False for the local model and for servers of this machine. */
  leavesMachine: boolean;
  signal: AbortSignal;
}

/** What the model is told of them, where there are any. */
const rule =
  "Words like EMAIL_k482p137f or HIDDEN_t905b221m stand for values that are kept from you: use each exactly as it is written, whole, as if it were the value; it is put back here. The value of a HIDDEN_… is a secret: it is put back in files alone, never in commands, addresses or messages.";

/**
 * A request made ready for where it goes (requirement M6): secrets are hidden from every model, personal data from those that are not on
 * this machine. Images and the providers' own blocks go as they are.
 */
export async function prepareOutbound(request: ModelRequest, deps: OutboundDeps, to: Destination): Promise<Outbound> {
  const { placeholders, redactor } = deps;
  if (placeholders === undefined) {
    const clean = mapTexts(request, (text) => redactor.text(text).text);
    return { request: clean, hidden: {}, restore: (events) => events };
  }
  const quest = placeholders.of(to.questId);
  const personal = to.leavesMachine ? deps.personal : undefined;
  await personal?.ready?.();
  const clean = personal === undefined ? hideSecrets(request, quest) : await hideAll(request, quest, personal, deps.more, to.signal);
  const hidden = quest.countIn(textsOf(clean));
  const told = Object.keys(hidden).length === 0 ? clean : { ...clean, system: clean.system === "" ? rule : `${clean.system}\n\n${rule}` };
  return { request: told, hidden, restore: (events) => restoreEvents(events, quest) };
}

function hideSecrets(request: ModelRequest, quest: QuestPlaceholders): ModelRequest {
  return mapTexts(request, (text) => quest.secrets.text(text).text);
}

function ownersTexts({ messages }: ModelRequest): string[] {
  return messages.flatMap((message) =>
    message.role === "user" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
  );
}

/** Texts of a quest that were looked at once: a conversation is sent again with each step, and what was found is known. */
const lookedAt = new WeakMap<QuestPlaceholders, Set<string>>();

/** A value that shows for what it is in one text is hidden in all of them, those before it too. */
async function hideAll(
  request: ModelRequest,
  quest: QuestPlaceholders,
  rules: PersonalRules,
  more: OutboundDeps["more"],
  signal: AbortSignal,
): Promise<ModelRequest> {
  if (more !== undefined) {
    const looked = lookedAt.get(quest) ?? new Set();
    lookedAt.set(quest, looked);
    for (const text of new Set(ownersTexts(request))) {
      const name = createHash("sha256").update(text).digest("base64");
      if (looked.has(name)) continue;
      const found = await more(quest.secrets.text(text).text, signal);
      if (found.length > 0) quest.hide(text, rules, found);
      looked.add(name);
    }
  }
  for (;;) {
    const { version } = quest;
    const clean = mapTexts(request, (text) => quest.hide(text, rules));
    if (quest.version === version) return asWritten(clean);
  }
}

/** The embedded model and servers of this machine see personal data as it is. A provider's own API may go on to anywhere, whatever its address. */
export function leavesMachine({ kind, connection }: Pick<Candidate, "kind" | "connection">): boolean {
  if (connection === null) return kind !== "local";
  if (kind !== "local" && kind !== "openai_compatible") return true;
  return !isLoopbackHost(new URL(connection.baseUrl).hostname);
}
