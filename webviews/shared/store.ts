import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { BackgroundCommand } from "../../agent-server/contract/background.ts";
import type { Change, TaskLeft } from "../../agent-server/contract/changes.ts";
import type { Quest } from "../../agent-server/contract/chat.ts";
import type { HostEvent } from "../../agent-server/contract/events.ts";
import type { Approval } from "../../agent-server/contract/governance.ts";
import type { HostInfo } from "../../agent-server/contract/host.ts";
import type { LocalModel } from "../../agent-server/contract/models.ts";
import type { SandboxState } from "../../agent-server/contract/providers.ts";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import type { Result } from "../../agent-server/contract/table.ts";
import type { UsageCaps, UsageSum } from "../../agent-server/contract/usage.ts";
import { type Bridge, isCancelled } from "./bridge.ts";

export type Models = Result<"models.list">;

/** The cost of today and the caps. */
export interface Spending {
  readonly today: UsageSum;
  readonly caps: UsageCaps;
}

/** The state of the host: snapshots plus later events. A missed event triggers a new snapshot. */
export interface Store {
  readonly quests: ReadonlySignal<ReadonlyMap<string, Quest>>;
  /** Most recently used first. */
  readonly recentQuests: ReadonlySignal<readonly Quest[]>;
  readonly approvals: ReadonlySignal<ReadonlyMap<string, Approval>>;
  readonly pendingApprovals: ReadonlySignal<readonly Approval[]>;
  readonly changes: ReadonlySignal<ReadonlyMap<string, Change>>;
  readonly openChanges: ReadonlySignal<readonly Change[]>;
  /** What tasks have besides their proposed changes, by quest. */
  readonly left: ReadonlySignal<ReadonlyMap<string, TaskLeft>>;
  /** Commands that run in the background and those that ended last, by id. */
  readonly background: ReadonlySignal<ReadonlyMap<string, BackgroundCommand>>;
  /** Newest first, at most `latestReceiptCount`. */
  readonly latestReceipts: ReadonlySignal<readonly Receipt[]>;
  readonly models: ReadonlySignal<Models | null>;
  readonly localModel: ReadonlySignal<LocalModel | null>;
  readonly info: ReadonlySignal<HostInfo | null>;
  readonly spending: ReadonlySignal<Spending | null>;
  /** The sandbox in which commands run. */
  readonly sandbox: ReadonlySignal<SandboxState | null>;
  /** Increases when a new snapshot is loaded; data that a view read itself is stale then. */
  readonly generation: ReadonlySignal<number>;
  putQuest(quest: Quest): void;
  putApproval(approval: Approval): void;
  putChange(change: Change): void;
  putLeft(left: TaskLeft): void;
  putBackground(command: BackgroundCommand): void;
  dispose(): void;
}

export const latestReceiptCount = 30;

function put<T extends { id: string }>(map: Signal<ReadonlyMap<string, T>>, item: T): void {
  map.value = new Map(map.value).set(item.id, item);
}

/**
 * Stores an item from a response. An event may have delivered a newer version during the request. For equal timestamps the event wins,
 * because a lost event triggers a new snapshot.
 */
function putResponse<T extends { id: string; updatedAt: string }>(map: Signal<ReadonlyMap<string, T>>, item: T): void {
  const known = map.value.get(item.id);
  if (known === undefined || known.updatedAt < item.updatedAt) put(map, item);
}

function byId<T extends { id: string }>(items: readonly T[]): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [item.id, item]));
}

export function createStore(bridge: Bridge): Store {
  const quests = signal<ReadonlyMap<string, Quest>>(new Map());
  const approvals = signal<ReadonlyMap<string, Approval>>(new Map());
  const changes = signal<ReadonlyMap<string, Change>>(new Map());
  const left = signal<ReadonlyMap<string, TaskLeft>>(new Map());
  const background = signal<ReadonlyMap<string, BackgroundCommand>>(new Map());
  const latestReceipts = signal<readonly Receipt[]>([]);
  const models = signal<Models | null>(null);
  const localModel = signal<LocalModel | null>(null);
  const info = signal<HostInfo | null>(null);
  const sandbox = signal<SandboxState | null>(null);
  const spending = signal<Spending | null>(null);
  const generation = signal(0);
  let lastSeq: number | undefined;
  let refreshing: { events: HostEvent[] } | undefined;

  function putLeft(found: TaskLeft): void {
    left.value = new Map(left.value).set(found.questId, found);
  }

  /** Events have no output before the end, so the known one stays. */
  function putBackground(command: BackgroundCommand): void {
    put(background, { ...background.value.get(command.id), ...command });
  }

  function putReceipt(receipt: Receipt): void {
    const others = latestReceipts.value.filter((known) => known.id !== receipt.id);
    const known = others.length < latestReceipts.value.length;
    const index = known ? latestReceipts.value.findIndex((item) => item.id === receipt.id) : 0;
    latestReceipts.value = others.toSpliced(index, 0, receipt).slice(0, latestReceiptCount);
  }

  async function readModels(): Promise<void> {
    try {
      models.value = await bridge.call("models.list", {});
    } catch (error) {
      if (!isCancelled(error)) models.value ??= { items: [], providers: [], problem: null };
    }
  }

  /** Only the response to the last request counts, because an earlier one may arrive after it. */
  let lastSpending = 0;
  async function readSpending(): Promise<void> {
    lastSpending += 1;
    const mine = lastSpending;
    try {
      const { today, caps } = await bridge.call("usage.summary", { days: 1 });
      if (mine === lastSpending) spending.value = { today, caps };
    } catch {
      // Keeps the previous value; the next event triggers another request.
    }
  }

  function apply(event: HostEvent): void {
    switch (event.topic) {
      case "quest":
        // The card of the call that started it shows a sub-task.
        return event.payload.parentId === undefined ? put(quests, event.payload) : undefined;
      case "questDeleted": {
        const rest = new Map(quests.value);
        rest.delete(event.payload.id);
        quests.value = rest;
        return;
      }
      case "approval":
        return put(approvals, event.payload);
      case "change":
        return put(changes, event.payload);
      case "task":
        return putLeft(event.payload);
      case "backgroundCommand":
        return putBackground(event.payload);
      case "receipt":
        return putReceipt(event.payload);
      case "localModel":
        localModel.value = event.payload;
        return;
      case "models":
        void readModels();
        return;
      case "message":
      case "messagesRemoved":
      case "delta":
      case "toolOutput":
      case "backgroundOutput":
        return; // Handled by the conversation.
      case "soul":
      case "trust":
      case "learning":
      case "flags":
        // Safe mode is shown in both views; the War Room panels handle the rest.
        void bridge.call("host.info", {}).then(
          (now) => {
            info.value = now;
          },
          () => undefined,
        );
        return;
      case "usage":
        void readSpending();
        return;
      case "sandbox":
        sandbox.value = event.payload;
        return;
      case "approvalRules":
      case "verifying":
      case "routed":
      case "oauth":
      case "providers":
      case "memory":
        return; // Handled by the War Room panels.
      case "plan":
        return; // Handled by its card.
      case "configuration":
        return; // The extension notifies the user.
    }
  }

  /** Applies the events that arrive during the request on top of the snapshot. */
  async function refresh(): Promise<void> {
    const mine = { events: [] as HostEvent[] };
    refreshing = mine;
    void readModels();
    void readSpending();
    const [quest, approval, change, receipt, local, host, place, commands] = await Promise.allSettled([
      bridge.call("quests.list", {}),
      bridge.call("approvals.list", {}),
      bridge.call("changes.list", { open: true }),
      bridge.call("receipts.search", { limit: latestReceiptCount }),
      bridge.call("models.local", {}),
      bridge.call("host.info", {}),
      bridge.call("tools.sandbox", {}),
      bridge.call("background.list", {}),
    ]);
    if (refreshing !== mine) return;
    refreshing = undefined;
    if (quest.status === "fulfilled") quests.value = byId(quest.value.items);
    if (approval.status === "fulfilled") approvals.value = byId(approval.value.items);
    if (change.status === "fulfilled") changes.value = byId(change.value.items);
    if (receipt.status === "fulfilled") latestReceipts.value = receipt.value.items;
    if (local.status === "fulfilled") localModel.value = local.value;
    if (host.status === "fulfilled") info.value = host.value;
    if (place.status === "fulfilled") sandbox.value = place.value;
    background.value = byId(commands.status === "fulfilled" ? commands.value.items : []);
    for (const event of mine.events) apply(event);
    generation.value += 1;
  }

  const stops = [
    bridge.onEvent((event) => {
      const missed = lastSeq !== undefined && event.seq !== lastSeq + 1;
      lastSeq = event.seq;
      if (missed) void refresh();
      refreshing?.events.push(event);
      apply(event);
    }),
    bridge.onBroken(() => void refresh()),
    bridge.host.subscribe((host) => {
      if (host.state !== "ready") return;
      lastSeq = undefined; // Another host process counts from the start.
      void refresh();
    }),
  ];

  return {
    quests,
    recentQuests: computed(() => [...quests.value.values()].sort((a, b) => b.updatedAt.localeCompare(a.updatedAt))),
    approvals,
    pendingApprovals: computed(() => [...approvals.value.values()].filter((approval) => approval.status === "pending")),
    changes,
    openChanges: computed(() => [...changes.value.values()].filter((change) => change.status === "pending")),
    left,
    background,
    latestReceipts,
    models,
    localModel,
    info,
    spending,
    sandbox,
    generation,
    putQuest: (quest) => putResponse(quests, quest),
    putApproval: (approval) => put(approvals, approval),
    putLeft,
    putBackground,
    putChange: (change) => putResponse(changes, change),
    dispose: () => {
      for (const stop of stops) stop();
    },
  };
}
