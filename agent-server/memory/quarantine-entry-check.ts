import type { MemoryProblem, QuarantineEntry } from "../contract/memory.ts";
import type { StoredQuarantine } from "./commit-types.ts";
import type { GatedEdit, Gates, MemoryStore } from "./item-types.ts";

export type Verify = (entry: StoredQuarantine) => QuarantineEntry["verifier"];

/**
 * Current problems of a quarantined entry: findings of the gates, changes of its item since, and findings
 * about the whole block with the entry in it. Decided entries have none.
 */
export function createQuarantineCheck({ store, gates }: { readonly store: MemoryStore; readonly gates: Gates }): Verify {
  const together = ({ edit, itemId }: StoredQuarantine): MemoryProblem[] => {
    if (!edit.target.startsWith("core:") || edit.content === null || edit.op === "delete") return [];
    const block = edit.target.slice("core:".length) as Parameters<MemoryStore["block"]>[0];
    const others = store.block(block).flatMap(({ id, content }) => (id === itemId ? [] : [content]));
    if (others.length === 0) return [];
    const asOne = (texts: readonly string[]): MemoryProblem[] =>
      gates.verify({ edit: { ...edit, content: texts.join("\n") }, author: "owner" });
    const known = new Set([...asOne(others), ...asOne([edit.content])].map(keyOf));
    const joined = [...asOne([...others, edit.content]), ...asOne([edit.content, ...others])].filter(
      (problem) => !known.has(keyOf(problem)),
    );
    const [first] = joined;
    return first === undefined ? [] : [{ rule: first.rule, message: `Together with the rest of the block: ${first.message}` }];
  };

  return (entry) => {
    if (entry.status !== "pending") return { ok: true, problems: [] };
    const edit: GatedEdit = entry.image === null ? entry.edit : { ...entry.edit, content: entry.image.content };
    const problems = [...gates.verify({ edit, author: entry.author }), ...ofItem(entry, store), ...together(entry)];
    return { ok: problems.length === 0, problems };
  };
}

const keyOf = ({ rule, message }: MemoryProblem): string => `${rule} ${message}`;

/** Changes of the item that an entry refers to. */
function ofItem({ itemId, itemVersion, edit }: StoredQuarantine, store: MemoryStore): MemoryProblem[] {
  if (itemId === null) return [];
  const item = store.get(itemId);
  if (edit.op === "set_aside") return item === null ? [] : [{ rule: "memory.changed", message: "The item is already restored." }];
  if (item === null) return [{ rule: "memory.changed", message: "The item to change no longer exists." }];
  if (item.version !== itemVersion) return [{ rule: "memory.changed", message: "The item to change was edited since." }];
  return [];
}
