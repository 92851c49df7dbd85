import * as z from "zod";
import type { Message } from "./chat.ts";
import { Cursor, Id, page, Timestamp } from "./common.ts";
import { method } from "./method.ts";
import { PlanStatus } from "./plans.ts";

export const ArtifactKind = z.enum(["section", "plan", "reasoning"]);
export type ArtifactKind = z.infer<typeof ArtifactKind>;

/** What a task produced besides the answers in its chat: a verbose section of an answer, a plan, or its reasoning. (Requirement A8.) */
export const Artifact = z.object({
  id: Id,
  questId: Id,
  questTitle: z.string(),
  kind: ArtifactKind,
  title: z.string(),
  /** Markdown. A section is as the model wrote it, byte for byte. */
  text: z.string(),
  at: Timestamp,
  /** The message that contains a section or reasoning. */
  messageId: Id.optional(),
  /** The state of a plan. */
  planStatus: PlanStatus.optional(),
});
export type Artifact = z.infer<typeof Artifact>;

/** The id of a verbose section: the `index`th in a part of a message. */
export function sectionId(messageId: string, partIndex: number, index: number): string {
  return `section:${messageId}:${partIndex}:${index}`;
}

/** True for a finished answer, whose verbose sections are artifacts. A message that called tools is a step on the way. */
export function isAnswer({ role, open, parts }: Pick<Message, "role" | "open" | "parts">): boolean {
  return role === "assistant" && !open && parts.every(({ type }) => type !== "tool");
}

export const artifactMethods = {
  "artifacts.list": method({
    summary: "Lists verbose sections of answers, plans and reasoning of a task or of all tasks of this workspace, newest first.",
    access: "any",
    params: z.object({
      questId: Id.optional(),
      query: z.string().max(500).optional().describe("Words that the artifact or the title of its task contains"),
      limit: z.int().min(1).max(200).default(50),
      cursor: Cursor.optional(),
    }),
    result: page(Artifact),
  }),
};
