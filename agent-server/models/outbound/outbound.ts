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

/** A request prepared for a model, and how to restore its answer. */
export interface Outbound {
  readonly request: ModelRequest;
  /** Number of hidden values by kind, for the receipt of the call. */
  readonly hidden: Readonly<Record<string, number>>;
  /** Restores personal data in the model's text, reasoning and tool arguments. Secrets stay hidden. */
  restore(events: AsyncIterable<ModelEvent>): AsyncIterable<ModelEvent>;
}

export interface OutboundDeps {
  /** Without them, secrets are removed irreversibly, and personal data is not searched. */
  placeholders: Placeholders | undefined;
  redactor: Redactor;
  /** Rules for personal data in requests that leave this machine; none when absent. */
  personal: PersonalRules | undefined;
  /** Finds personal data in the user's text that rules miss, such as names found by a local model. */
  more?: ((text: string, signal: AbortSignal) => Promise<PiiMatch[]>) | undefined;
}

export interface Destination {
  questId: string | null;
  /** False for the local model and for servers on this machine. */
  leavesMachine: boolean;
  signal: AbortSignal;
}

/** Explains placeholders to the model, where there are any. */
const rule =
  "Words like EMAIL_k482p137f or HIDDEN_t905b221m stand for values that are kept from you: use each exactly as it is written, whole, as if it were the value; it is put back here. The value of a HIDDEN_… is a secret: it is put back in files alone, never in commands, addresses or messages.";

/**
 * Prepares a request for its destination (requirement M6): secrets are hidden from every model, personal data from those that are not on this
 * machine. Images and the providers' own blocks are sent unchanged.
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

/** Texts of a quest that were already searched, since each step sends the conversation again. */
const lookedAt = new WeakMap<QuestPlaceholders, Set<string>>();

/** A value found in one text is hidden in all texts, including earlier ones. */
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

/** The embedded model and servers on this machine get personal data unchanged. Any other API may forward it, whatever its address. */
export function leavesMachine({ kind, connection }: Pick<Candidate, "kind" | "connection">): boolean {
  if (connection === null) return kind !== "local";
  if (kind !== "local" && kind !== "openai_compatible") return true;
  return !isLoopbackHost(new URL(connection.baseUrl).hostname);
}
