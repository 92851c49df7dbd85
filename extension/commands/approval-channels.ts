import type { Approval } from "../../agent-server/contract/governance.ts";

/** True when an approval needs a notification: the soul lists that channel, and the chat that shows the approval is hidden. */
export function isAnnounced({ channels }: Pick<Approval, "channels">, chatVisible: boolean): boolean {
  return !chatVisible && channels.includes("notification");
}
