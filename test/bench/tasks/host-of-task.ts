import type { HostEvent } from "../../../agent-server/contract/events.ts";

/** The host of one task, with the owner's rights. */
export interface HostOfTask {
  call<Result>(method: string, params: unknown): Promise<Result>;
  /** @param onEnd when no more events will come before `close` */
  listen(onEvent: (event: HostEvent) => void, onEnd: () => void): void;
  close(): Promise<void>;
}

export type OpenHost = (place: { workspace: string; data: string; env: Record<string, string> }) => Promise<HostOfTask>;
