import * as z from "zod";
import { BackgroundCommand } from "./background.ts";
import { Change, TaskLeft } from "./changes.ts";
import { Message, Quest } from "./chat.ts";
import { Id } from "./common.ts";
import { ConfigProblem } from "./host.ts";
import { Approval } from "./governance.ts";
import { LocalModel } from "./models.ts";
import { PlanArtifact } from "./plans.ts";
import { SandboxState } from "./providers.ts";
import { Receipt } from "./receipts.ts";
import { RouterDecision } from "./router.ts";
import { SoulStatus } from "./soul.ts";

/** All events of the host by topic. A snapshot (`quests.get`, `changes.list`, …) plus later events is the complete state. */
export const eventTopics = {
  /** A quest was created or changed. */
  quest: Quest,
  questDeleted: z.object({ id: Id }),
  /** A message was created or changed; replaces the one with its id. */
  message: Message,
  /** Messages from `fromSeq` on were removed (edit and resend). */
  messagesRemoved: z.object({ questId: Id, fromSeq: z.int() }),
  /** Text to append to a part of an open message. `offset` is the part's length before it (UTF-16 units), to detect repeats and gaps. */
  delta: z.object({
    questId: Id,
    messageId: Id,
    partIndex: z.int(),
    kind: z.enum(["text", "thinking"]),
    offset: z.int(),
    text: z.string(),
  }),
  /**
   * Output of a running tool to append to `live.text` of its card. `offset` counts UTF-16 units since the tool started, including those
   * that the card has dropped, to detect repeats and gaps.
   */
  toolOutput: z.object({ questId: Id, messageId: Id, callId: Id, offset: z.int(), text: z.string() }),
  /** A background command was started, listens on another port, or ended; without its output. */
  backgroundCommand: BackgroundCommand,
  /** Output of a background command after its tool call returned; `offset` as for `toolOutput`. */
  backgroundOutput: z.object({ id: Id, questId: Id.nullable(), callId: Id.nullable(), offset: z.int(), text: z.string() }),
  approval: Approval,
  /** An approval for the whole workspace was saved or revoked: reload `approvals.rules`. */
  approvalRules: z.object({}),
  change: Change,
  /** What a task has besides its proposed changes was changed: it was applied, imported or discarded, or a command wrote it. */
  task: TaskLeft,
  /** A receipt was opened or closed. */
  receipt: Receipt,
  /** A plan was made or changed. */
  plan: PlanArtifact,
  localModel: LocalModel,
  /** A soul was proposed, decided or activated, here or in another window: reload `soul.status`. */
  soul: SoulStatus,
  /** A trust or learning proposal was created or decided: reload the lists. */
  trust: z.object({}),
  learning: z.object({}),
  /** Flags, safe mode or a setting of the editor changed. */
  flags: z.object({}),
  /** Files of the owner's `config/` folder were broken or corrected. Contains all that are not used. */
  configuration: z.object({ problems: z.array(ConfigProblem) }),
  /** A provider's health changed: reload `tools.providers`. */
  providers: z.object({}),
  sandbox: SandboxState,
  /** Progress of `receipts.verify`. */
  verifying: z.object({ done: z.int(), total: z.int() }),
  /** The active model or a provider's state changed: reload `models.list`. */
  models: z.object({}),
  /** The router made a decision, or the routed call ended. */
  routed: RouterDecision,
  /** Tokens were counted, or caps or prices changed: reload `usage.summary`. */
  usage: z.object({ questId: Id.nullable() }),
  /** A sign-in changed: reload `oauth.status`. */
  oauth: z.object({}),
  /** Memory items, commits, quarantine or compiled contexts changed, here or in another window: reload them. */
  memory: z.object({}),
} as const;

export type Topic = keyof typeof eventTopics;
export type EventPayload<T extends Topic> = z.output<(typeof eventTopics)[T]>;
/** `seq` increases by one with each event of a host process and restarts with the next process. */
export type HostEvent = { [T in Topic]: { seq: number; topic: T; payload: EventPayload<T> } }[Topic];

/** Sends an event to all clients; injected by the composition root. */
export type Emit = <T extends Topic>(topic: T, payload: EventPayload<T>) => void;

const topicNames = Object.keys(eventTopics) as [Topic, ...Topic[]];
export const EventEnvelope = z.object({ seq: z.int(), topic: z.enum(topicNames), payload: z.unknown() });

/**
 * Parses an event received from a host.
 * @throws z.ZodError when it is not a known event
 */
export function parseEvent(value: unknown): HostEvent {
  const { seq, topic, payload } = EventEnvelope.parse(value);
  return { seq, topic, payload: eventTopics[topic].parse(payload) } as HostEvent;
}
