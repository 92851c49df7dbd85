import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Flag } from "../../../agent-server/contract/flags.ts";
import type { SoulIssue, SoulProposal, SoulStatus } from "../../../agent-server/contract/soul.ts";
import type { Result } from "../../../agent-server/contract/table.ts";
import type { Bridge } from "../../shared/bridge.ts";
import type { Store } from "../../shared/store.ts";
import { createLiveQuery, type LiveQuery } from "../live-query.ts";

export interface SoulView {
  readonly status: SoulStatus;
  /** Includes decided proposals, newest first. */
  readonly proposals: readonly SoulProposal[];
  /** The disabled flag, if any; then no soul is active. */
  readonly off: Flag | null;
}

export interface SoulVersion extends Result<"soul.get"> {
  readonly issues: readonly SoulIssue[];
}

export interface SoulState {
  readonly view: LiveQuery<SoulView>;
  /** The selected version; null for the active one. */
  readonly version: Signal<string | null>;
  readonly source: Signal<boolean>;
  readonly document: LiveQuery<SoulVersion>;
}

const flagName = "SOUL";

export function createSoulState(bridge: Bridge, store: Pick<Store, "generation">, shown: ReadonlySignal<boolean>): SoulState {
  const version = signal<string | null>(null);
  const view = createLiveQuery<SoulView>({
    bridge,
    store,
    shown,
    topics: ["soul", "flags"],
    async read(abort) {
      const [status, proposals, flags] = await Promise.all([
        bridge.call("soul.status", {}, abort),
        bridge.call("soul.proposals", {}, abort),
        bridge.call("flags.list", {}, abort),
      ]);
      const flag = flags.items.find(({ name }) => name === flagName);
      return { status, proposals: proposals.items, off: flag !== undefined && !flag.enabled ? flag : null };
    },
  });
  const document = createLiveQuery<SoulVersion>({
    bridge,
    store,
    shown,
    topics: ["soul", "flags"],
    async read(abort) {
      const wanted = version.peek();
      const soul = await bridge.call("soul.get", wanted === null ? {} : { version: wanted }, abort);
      const { issues } = await bridge.call("soul.lint", { yaml: soul.yaml }, abort);
      return { ...soul, issues };
    },
  });
  let before = version.peek();
  version.subscribe((next) => {
    if (next === before) return;
    before = next;
    document.refresh();
  });
  return { view, version, source: signal(false), document };
}

/** Returns the lines of a unified diff without its file headers. */
export function diffLines(diff: string): string[] {
  const lines = diff.replace(/\n$/, "").split("\n");
  const first = lines.findIndex((line) => line.startsWith("@@"));
  return first < 0 ? lines.filter((line) => line !== "") : lines.slice(first);
}
