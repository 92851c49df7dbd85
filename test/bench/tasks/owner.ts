// The task's owner: approves what the task allows, accepts reviews, and says no to the rest.
import type { Change } from "../../../agent-server/contract/changes.ts";
import type { Message, Quest } from "../../../agent-server/contract/chat.ts";
import type { Approval } from "../../../agent-server/contract/governance.ts";
import type { HostEvent } from "../../../agent-server/contract/events.ts";
import type { HostOfTask } from "./host-of-task.ts";
import type { BenchTask } from "./types.ts";

const ended: ReadonlySet<string> = new Set(["done", "failed", "cancelled", "interrupted"]);

/** Sends a task's request and answers what the host asks. Resolves with the quest when it has ended. */
export async function runAsOwner(
  host: HostOfTask,
  task: Pick<BenchTask, "request" | "approves" | "acceptsCautioned" | "solution">,
): Promise<{ quest: Quest; messages: Message[] }> {
  const end = Promise.withResolvers<void>();
  // It may fail before anybody waits for it.
  end.promise.catch(() => undefined);
  const handled = new Set<string>();
  /** One review after the other: a decision changes the quest, which tells of its review again. */
  let reviewed = Promise.resolve();
  const once = (key: string, work: () => Promise<unknown>): void => {
    if (handled.has(key)) return;
    handled.add(key);
    work().catch(end.reject);
  };

  function onEvent(event: HostEvent): void {
    if (event.topic === "approval" && event.payload.status === "pending") once(event.payload.id, () => decide(event.payload));
    if (event.topic !== "quest") return;
    const { id: questId, status, waitingFor, updatedAt } = event.payload;
    if (ended.has(status)) end.resolve();
    else if (waitingFor?.kind === "review") once(`review:${updatedAt}`, () => (reviewed = reviewed.then(() => review(questId))));
    else if (waitingFor?.kind === "answer")
      once(waitingFor.id, () => host.call("chat.answer", { questId, callId: waitingFor.id, answer: "Decide yourself." }));
  }

  /** Approves T1, and more only for the paths that the task is about. */
  async function decide({ id, tier, title }: Approval): Promise<void> {
    const isAbout = task.solution.some(({ path }) => title.includes(path));
    await host.call("approvals.decide", { id, decision: tier <= (isAbout ? task.approves : "T1") ? "allow_once" : "deny" });
  }

  /** Accepts every text. What is decided on its own is accepted where the task says so, and links and binaries never are. */
  async function review(questId: string): Promise<void> {
    const { items } = await host.call<{ items: Change[] }>("changes.list", { questId, open: true });
    for (const { id, caution, whole } of items.toReversed()) {
      const isAccepted = whole !== true && (caution === undefined || task.acceptsCautioned);
      await host.call("changes.decide", { id, decision: isAccepted ? "accept" : "reject" });
    }
  }

  host.listen(onEvent, () => end.reject(new Error("The host closed its events before the task ended.")));
  const { questId } = await host.call<{ questId: string }>("chat.send", { text: task.request });
  await end.promise;
  return host.call("quests.get", { id: questId });
}
