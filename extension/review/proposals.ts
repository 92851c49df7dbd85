import type { Change, ChangeTexts, TaskLeft } from "../../agent-server/contract/changes.ts";
import type { HostEvent } from "../../agent-server/contract/events.ts";
import type { Call } from "../../agent-server/contract/table.ts";
import { isOpen, type PlacedHunk, placeHunks } from "./hunks.ts";

interface PlacedChange extends ChangeTexts {
  readonly placed: readonly PlacedHunk[];
}

/** The host's proposed changes for this workspace, and the titles of their quests. */
export interface Proposals {
  /** Changes with undecided hunks, oldest first. */
  open: () => readonly Change[];
  get: (id: string) => Change | undefined;
  questTitle: (questId: string) => string | undefined;
  /** Tasks that have generated files or commits which are not in the workspace yet. */
  left: () => readonly TaskLeft[];
  /** What a task has besides its proposed changes; undefined when that is not known. */
  leftOf: (questId: string) => TaskLeft | undefined;
  /** Applies the generated files of a task, or discards them. @throws LancelotError */
  decideGenerated: (questId: string, decision: "accept" | "reject") => Promise<void>;
  /** A change with its current texts. @throws LancelotError */
  texts: (id: string) => Promise<PlacedChange>;
  /** The cached texts; undefined before they were read. */
  knownTexts: (id: string) => PlacedChange | undefined;
  /** Accepts or rejects the given hunks, or every undecided hunk. @throws LancelotError */
  decide: (id: string, decision: "accept" | "reject", hunks?: readonly number[]) => Promise<Change>;
  /** Reads everything again after the host (re)started. */
  reload: () => Promise<void>;
  handle: (event: HostEvent) => void;
}

/** Quests whose generated files are read at the start; later ones arrive as events. */
const recentQuests = 10;

/** @param changed called with the id of an updated change; null when any may have changed. */
export function createProposals(call: Call, changed: (id: string | null) => void): Proposals {
  const changes = new Map<string, Change>();
  const titles = new Map<string, string>();
  const texts = new Map<string, PlacedChange>();
  const left = new Map<string, TaskLeft>();
  /** Pending reads by change id. An update of the change discards its pending read. */
  const reading = new Map<string, Promise<PlacedChange>>();

  const update = (change: Change) => {
    const known = changes.get(change.id);
    if (known !== undefined && known.updatedAt > change.updatedAt) return;
    changes.set(change.id, change);
    texts.delete(change.id);
    reading.delete(change.id);
    changed(change.id);
  };

  return {
    open: () => [...changes.values()].filter(isOpen).sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.path.localeCompare(b.path)),
    get: (id) => changes.get(id),
    questTitle: (questId) => titles.get(questId),
    left: () => [...left.values()].filter(({ generated, commits }) => generated !== null || commits.length > 0),
    leftOf: (questId) => left.get(questId),
    async decideGenerated(questId, decision) {
      left.set(questId, await call("changes.decideGenerated", { questId, decision }));
      changed(null);
    },
    knownTexts: (id) => texts.get(id),
    async texts(id) {
      const known = texts.get(id) ?? reading.get(id);
      if (known !== undefined) return known;
      const read = call("changes.get", { id }).then((answer): PlacedChange => {
        const placed = { ...answer, placed: placeHunks(answer.change.hunks, answer.proposed ?? "") };
        if (reading.get(id) === read) {
          reading.delete(id);
          texts.set(id, placed);
          if (!changes.has(id)) changes.set(id, answer.change);
        }
        return placed;
      });
      reading.set(id, read);
      read.catch(() => reading.delete(id));
      return read;
    },
    async decide(id, decision, hunks) {
      const change = await call("changes.decide", { id, decision, ...(hunks === undefined ? {} : { hunks: [...hunks] }) });
      update(change);
      return change;
    },
    async reload() {
      const [{ items }, quests] = await Promise.all([
        call("changes.list", { open: true, limit: 500 }),
        call("quests.list", { limit: 200 }),
      ]);
      changes.clear();
      texts.clear();
      reading.clear();
      for (const change of items) changes.set(change.id, change);
      for (const quest of quests.items) titles.set(quest.id, quest.title);
      left.clear();
      const recent = new Set([...items.map(({ questId }) => questId), ...quests.items.slice(0, recentQuests).map(({ id }) => id)]);
      for (const found of await Promise.all([...recent].map((questId) => call("changes.left", { questId }))))
        left.set(found.questId, found);
      changed(null);
    },
    handle(event) {
      if (event.topic === "change") update(event.payload);
      if (event.topic === "task") {
        left.set(event.payload.questId, event.payload);
        changed(null);
      }
      if (event.topic === "quest" && titles.get(event.payload.id) !== event.payload.title) {
        titles.set(event.payload.id, event.payload.title);
        if ([...changes.values()].some((change) => change.questId === event.payload.id)) changed(null);
      }
      if (event.topic === "questDeleted") {
        left.delete(event.payload.id);
        for (const [id, change] of changes) if (change.questId === event.payload.id) changes.delete(id);
        changed(null);
      }
    },
  };
}
