import type { Approval } from "../../agent-server/contract/governance.ts";

/** Whether the owner is told of a question by a notification: where the soul says so, and the chat that shows it is not in sight. */
export function isAnnounced({ channels }: Pick<Approval, "channels">, chatVisible: boolean): boolean {
  return !chatVisible && channels.includes("notification");
}
