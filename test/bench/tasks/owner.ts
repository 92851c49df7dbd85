// The task's owner, over the gateway: approves what the task allows, accepts reviews, and says no to the rest.
import { WebSocket } from "ws";
import type { Change } from "../../../agent-server/contract/changes.ts";
import type { Message, Quest } from "../../../agent-server/contract/chat.ts";
import type { Event } from "../../../agent-server/contract/events.ts";
import type { Approval } from "../../../agent-server/contract/governance.ts";
import type { BenchTask } from "./types.ts";

export interface Owner {
  call<Result>(method: string, params: unknown): Promise<Result>;
  /** Sends the request, and resolves with the quest when it has ended. */
  runTask(): Promise<{ quest: Quest; messages: Message[] }>;
  close(): void;
}

const ended: ReadonlySet<string> = new Set(["done", "failed", "cancelled", "interrupted"]);

export async function openOwner(
  server: { url: string; token: string },
  task: Pick<BenchTask, "request" | "approves" | "acceptsCautioned">,
): Promise<Owner> {
  const authorization = `Bearer ${server.token}`;
  const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws`, { headers: { authorization } });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));

  async function call<Result>(method: string, params: unknown): Promise<Result> {
    const response = await fetch(`${server.url}/rpc`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result?: Result; error?: unknown };
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  async function decideApproval({ id, tier }: Approval): Promise<void> {
    await call("approvals.decide", { id, decision: tier <= task.approves ? "allow_once" : "deny" });
  }

  /** A change that another program would run is decided on its own, as the editor shows it. */
  async function review(questId: string): Promise<void> {
    const { items } = await call<{ items: Change[] }>("changes.list", { questId, open: true });
    for (const { id, caution } of items.toReversed())
      await call("changes.decide", { id, decision: caution === undefined || task.acceptsCautioned ? "accept" : "reject" });
  }

  async function runTask(): Promise<{ quest: Quest; messages: Message[] }> {
    const end = Promise.withResolvers<void>();
    end.promise.catch(() => undefined);
    const handled = new Set<string>();
    const once = (key: string, work: () => Promise<unknown>): void => {
      if (handled.has(key)) return;
      handled.add(key);
      work().catch(end.reject);
    };
    socket.on("close", () => end.reject(new Error("The host closed its events before the task ended.")));
    socket.on("message", (text: Buffer) => {
      const event = JSON.parse(text.toString()) as Event;
      if (event.topic === "approval" && event.payload.status === "pending")
        once(event.payload.id, () => decideApproval(event.payload));
      if (event.topic !== "quest") return;
      const { id: questId, status, waitingFor, updatedAt } = event.payload;
      if (ended.has(status)) end.resolve();
      else if (waitingFor?.kind === "review") once(`review:${updatedAt}`, () => review(questId));
      else if (waitingFor?.kind === "answer")
        once(waitingFor.id, () => call("chat.answer", { questId, callId: waitingFor.id, answer: "Decide yourself." }));
    });
    const { questId } = await call<{ questId: string }>("chat.send", { text: task.request });
    await end.promise;
    return call("quests.get", { id: questId });
  }

  return { call, runTask, close: () => socket.close() };
}
