import { Filters, noFilters, SavedWarRoom } from "./war-room-types.ts";
import { computed, type Signal, signal } from "@preact/signals";
import type { ArtifactPlace, MemoryPlace } from "../../agent-server/contract/webview.ts";
import type { Bridge } from "../shared/bridge.ts";
import type { Store } from "../shared/store.ts";
import type { ViewState } from "../shared/view-state.ts";
import { type ArtifactsState, createArtifactsState } from "./artifacts/artifacts-state.ts";
import { createGovernanceState, type GovernanceState } from "./governance/governance-state.ts";
import { createLearningState, type LearningView } from "./learning/learning-state.ts";
import type { LiveQuery } from "./live-query.ts";
import { createMemoryState, type MemoryState } from "./memory/memory-state.ts";
import { createReceiptsState, type ReceiptsState } from "./receipts/receipts-state.ts";
import { createSoulState, type SoulState } from "./soul/soul-state.ts";
import { createToolsState, type ToolsState } from "./tools/tools-state.ts";
import { createTrustState, type TrustView } from "./trust/trust-state.ts";
import { createUsageState, type UsageState } from "./usage/usage-state.ts";

export interface WarRoom {
  readonly bridge: Bridge;
  readonly store: Store;
  readonly tab: Signal<string>;
  readonly receipts: ReceiptsState;
  readonly governance: GovernanceState;
  readonly soul: SoulState;
  readonly trust: LiveQuery<TrustView>;
  readonly learning: LiveQuery<LearningView>;
  readonly tools: ToolsState;
  readonly usage: UsageState;
  readonly memory: MemoryState;
  readonly artifacts: ArtifactsState;
  showTab(id: string): void;
  showReceipt(id: string): void;
  /** Opens the receipts with only these filters. */
  showReceipts(filters: Partial<Filters>): void;
  showQuest(questId: string): void;
  /** Opens a section of the Memory panel, or one item in it. */
  showMemory(place: MemoryPlace): void;
  /** Opens the Artifacts panel with the artifacts of a task. */
  showArtifact(place: ArtifactPlace): void;
}

export function createWarRoom(bridge: Bridge, store: Store, saved: ViewState<SavedWarRoom>): WarRoom {
  const tab = signal(saved.initial.tab);
  const receipts = createReceiptsState(bridge, store, saved.initial);
  tab.subscribe((id) => saved.update({ tab: id }));
  receipts.filters.subscribe((filters) => saved.update({ filters }));
  receipts.selected.subscribe((receiptId) => saved.update({ receiptId }));

  const showReceipt = (id: string): void => {
    tab.value = "receipts";
    receipts.selected.value = id;
  };
  const showReceipts = (filters: Partial<Filters>): void => {
    tab.value = "receipts";
    receipts.selected.value = null;
    receipts.filters.value = { ...noFilters, actionType: null, ...filters };
  };
  const showQuest = (questId: string): void => {
    tab.value = "receipts";
    receipts.filters.value = { ...noFilters, actionType: null, questId };
  };
  const shown = (id: string) => computed(() => tab.value === id);
  const governance = createGovernanceState(bridge, store, shown("governance"));
  const soul = createSoulState(bridge, store, shown("soul"));
  const trust = createTrustState(bridge, store, shown("trust"));
  const learning = createLearningState(bridge, store, shown("learning"));
  const tools = createToolsState(bridge, store, shown("tools"));
  const usage = createUsageState(bridge, store, shown("usage"));
  const memory = createMemoryState(bridge, store, shown("memory"));
  const showMemory = (place: MemoryPlace): void => {
    tab.value = "memory";
    memory.show(place);
  };
  const artifacts = createArtifactsState(bridge, store, shown("artifacts"));
  const showArtifact = (place: ArtifactPlace): void => {
    tab.value = "artifacts";
    artifacts.show(place);
  };
  bridge.onShow((wanted) => {
    if (wanted.tab !== undefined) tab.value = wanted.tab;
    if (wanted.memory !== undefined) showMemory(wanted.memory);
    if (wanted.artifact !== undefined) showArtifact(wanted.artifact);
    if (wanted.receiptId !== undefined) showReceipt(wanted.receiptId);
    else if (wanted.questId !== undefined) showQuest(wanted.questId);
  });
  const showTab = (id: string): void => {
    tab.value = id;
  };
  return {
    ...{ bridge, store, tab, receipts, governance, soul, trust, learning, tools, usage, memory, artifacts },
    ...{ showTab, showReceipt, showReceipts, showQuest, showMemory, showArtifact },
  };
}
