import * as z from "zod";
import { Change } from "./changes.ts";
import { Message, Quest } from "./chat.ts";
import { Id } from "./common.ts";
import { Approval } from "./governance.ts";
import { LocalModel } from "./models.ts";
import { SandboxState } from "./providers.ts";
import { Receipt } from "./receipts.ts";
import { RouterDecision } from "./router.ts";
import { SoulStatus } from "./soul.ts";

/** Every event the host sends, by topic. A snapshot (`quests.get`, `changes.list`, …) plus the events after it is the whole state. */
export const eventTopics = {
  /** A quest was made or changed. */
  quest: Quest,
  questDeleted: z.object({ id: Id }),
  /** A message was made or changed; replaces the one with its id. */
  message: Message,
  /** Messages from `fromSeq` on were removed (edit and resend). */
  messagesRemoved: z.object({ questId: Id, fromSeq: z.int() }),
  /** Text to append to a part of an open message. `offset` is the length of the part before it (UTF-16 units), so that a repeat or a gap shows. */
  delta: z.object({
    questId: Id,
    messageId: Id,
    partIndex: z.int(),
    kind: z.enum(["text", "thinking"]),
    offset: z.int(),
    text: z.string(),
  }),
  /**
   * What a running tool prints, to append to `live.text` of its card. `offset` counts UTF-16 units since the tool began, also those
   * that a bounded card no longer holds, so that a repeat or a gap shows.
   */
  toolOutput: z.object({ questId: Id, messageId: Id, callId: Id, offset: z.int(), text: z.string() }),
  approval: Approval,
  change: Change,
  /** A receipt was opened or closed. */
  receipt: Receipt,
  localModel: LocalModel,
  /** A soul was proposed, decided or activated, here or in another window: read `soul.status` again. */
  soul: SoulStatus,
  /** A trust or learning proposal was made or decided: read the lists again. */
  trust: z.object({}),
  learning: z.object({}),
  /** Flags or safe mode changed. */
  flags: z.object({}),
  /** A provider's health changed: read `tools.providers` again. */
  providers: z.object({}),
  sandbox: SandboxState,
  /** `receipts.verify` is at work. */
  verifying: z.object({ done: z.int(), total: z.int() }),
  /** The active model or a provider's state changed: read `models.list` again. */
  models: z.object({}),
  /** A decision of the router was made, or its call ended. */
  routed: RouterDecision,
  /** Tokens were counted, or caps or prices changed: read `usage.summary` again. */
  usage: z.object({ questId: Id.nullable() }),
  /** A sign-in changed: read `oauth.status` again. */
  oauth: z.object({}),
  /** What is remembered, staged, quarantined or compiled changed, here or in another window: read what is shown again. */
  memory: z.object({}),
} as const;

export type Topic = keyof typeof eventTopics;
export type EventPayload<T extends Topic> = z.output<(typeof eventTopics)[T]>;
/** `seq` grows by one with each event of one host process and starts again with the next. */
export type HostEvent = { [T in Topic]: { seq: number; topic: T; payload: EventPayload<T> } }[Topic];

/** How a room tells the world; given to it by the composition root. */
export type Emit = <T extends Topic>(topic: T, payload: EventPayload<T>) => void;

const topicNames = Object.keys(eventTopics) as [Topic, ...Topic[]];
export const EventEnvelope = z.object({ seq: z.int(), topic: z.enum(topicNames), payload: z.unknown() });

/**
 * Parses an event that came over a wire.
 * @throws z.ZodError when it is not one of the table.
 */
export function parseEvent(value: unknown): HostEvent {
  const { seq, topic, payload } = EventEnvelope.parse(value);
  return { seq, topic, payload: eventTopics[topic].parse(payload) } as HostEvent;
}
