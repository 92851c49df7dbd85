import type { Change, Hunk } from "../../../agent-server/contract/changes.ts";
import type { Tier } from "../../../agent-server/contract/common.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { ToolCall, ToolOutcome } from "../../../agent-server/tools/tools.ts";
import type { HostTools } from "./harness.ts";

export type Effect = (call: ToolCall, note: (event: string) => void) => Promise<Partial<ToolOutcome>> | Partial<ToolOutcome>;

/** Tools with the effects of a test, which are recorded in order. */
export function recordingTools(effects: Record<string, { tier: Tier; capability?: string; effect: Effect }>) {
  const log: string[] = [];
  const invoked: ToolCall[] = [];
  const changes = new Map<string, Change>();
  const reported = new Set<string>();
  const listeners = new Set<(change: Change) => void>();
  const tell = (change: Change): void => {
    for (const listener of listeners) listener(structuredClone(change));
  };
  const isOpen = (change: Change): boolean => change.hunks.some((hunk) => hunk.state === "pending");
  const decideAll = (change: Change, state: Hunk["state"], hunks?: readonly number[]): void => {
    for (const hunk of change.hunks)
      if (hunk.state === "pending" && (hunks === undefined || hunks.includes(hunk.index))) hunk.state = state;
    if (!isOpen(change)) change.status = change.hunks.every((hunk) => hunk.state === "accepted") ? "accepted" : "rejected";
  };

  const tools: Pick<HostTools, "list" | "schemas" | "invoke" | "files" | "changes" | "verifications"> & {
    background: Pick<HostTools["background"], "takeEnds">;
  } = {
    list: () =>
      Object.entries(effects).map(([name, { tier, capability }]) => ({
        name,
        description: name,
        capability: capability ?? "file_ops",
        action: "read",
        baseTier: tier,
        parameters: { type: "object" },
        problem: null,
      })),
    schemas: (names) =>
      Object.keys(effects)
        .filter((name) => names === undefined || names.includes(name))
        .map((name) => ({ name, description: name, parameters: { type: "object" } })),
    async invoke(call) {
      call.signal.throwIfAborted();
      invoked.push(call);
      const entry = effects[call.tool];
      if (entry === undefined) return { text: `There is no tool ${call.tool}.`, isError: true, receiptId: null, changeId: null, card: {} };
      try {
        const outcome = await entry.effect(call, (event) => log.push(event));
        return {
          text: "ok",
          isError: false,
          receiptId: "receipt",
          changeId: null,
          card: { title: call.tool, tier: entry.tier },
          ...outcome,
        };
      } catch (error) {
        if (call.signal.aborted) throw new LancelotError("cancelled", "Stopped.");
        throw error;
      }
    },
    files: () => Promise.resolve([]),
    background: { takeEnds: () => [] },
    changes: {
      list: ({ questId, open }) =>
        [...changes.values()].filter(
          (change) => (questId === undefined || change.questId === questId) && (open !== true || isOpen(change)),
        ),
      get: () => {
        throw new LancelotError("not_found", "No texts here.");
      },
      decide: (id, decision, hunks) => {
        const change = changes.get(id);
        if (change === undefined) throw new LancelotError("not_found", "No such change.");
        decideAll(change, decision === "accept" ? "accepted" : "rejected", hunks);
        tell(change);
        return Promise.resolve(change);
      },
      takeReview: (questId) => {
        const decided = [...changes.values()].filter((change) => change.questId === questId && !isOpen(change) && !reported.has(change.id));
        for (const { id } of decided) reported.add(id);
        return {
          open: [...changes.values()].filter((change) => change.questId === questId && isOpen(change)).length,
          text: decided.map((change) => `${change.path}: ${change.status}`).join("\n"),
        };
      },
      discard: (questId) => {
        for (const change of changes.values()) {
          if (change.questId !== questId || !isOpen(change)) continue;
          decideAll(change, "rejected");
          tell(change);
        }
      },
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    verifications: {
      stats: () => ({ waiting: 0, failed: 0 }),
      settle: () => Promise.resolve(true),
      takeFailures: () => "",
      onFailure: () => () => undefined,
    },
  };

  /** Creates a proposed change as `edit_file` does. */
  function propose(id: string, questId: string, path = "a.ts", hunks = 1): Partial<ToolOutcome> {
    const at = new Date(0).toISOString();
    changes.set(id, {
      id,
      questId,
      path,
      kind: "modify",
      status: "pending",
      createdAt: at,
      updatedAt: at,
      receiptId: null,
      problem: null,
      hunks: Array.from({ length: hunks }, (_, index) => ({
        index,
        oldStart: index + 1,
        oldLines: 1,
        newStart: index + 1,
        newLines: 1,
        lines: ["-a", "+b"],
        state: "pending",
      })),
    });
    return { text: "proposed", changeId: id };
  }

  return { tools: tools as HostTools, log, invoked, changes, propose };
}
