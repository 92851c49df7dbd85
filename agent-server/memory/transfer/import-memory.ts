import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { LancelotError } from "../../contract/errors.ts";
import type { Params, Result } from "../../contract/table.ts";
import { targetOf } from "../item-rows.ts";
import type { MemorySettings } from "../memory-settings.ts";
import { foldText } from "../text-key.ts";
import type { Commits, QuarantineStore } from "../commit-types.ts";
import type { Author, GatedEdit, Gates, MemoryStore, StoredItem } from "../item-types.ts";
import { removalOf } from "../removal-edit.ts";
import { type ExportDeps, itemPages } from "./export-memory.ts";
import type { ItemLine, ParsedLine, QuarantineLine } from "./export-lines.ts";
import { parseImport } from "./parse-import.ts";
import { readImportFile } from "./read-import-file.ts";

export interface ImportDeps extends ExportDeps {
  readonly store: Pick<MemoryStore, "all" | "get" | "same">;
  readonly commits: Pick<Commits, "apply">;
  readonly quarantine: Pick<QuarantineStore, "put" | "list">;
  readonly gates: Pick<Gates, "judge">;
  readonly settings: () => MemorySettings;
  /** Removes secrets from texts that pass no gate. */
  readonly scrub: (text: string) => string;
}

/** Lines judged per event-loop turn. */
const batch = 10;
/** Maximum lifetime of working memory (ms). */
const longest = 2_592_000_000;

/** An accepted line. */
interface AcceptedLine {
  readonly line: number;
  readonly edit: GatedEdit & { readonly content: string };
}

interface PendingLine {
  readonly line: number;
  readonly entry: QuarantineLine;
  readonly edit: GatedEdit;
}

type Refused = { line: number; reason: string };

/**
 * Imports a file as one commit. A line with the id or the text of an existing item changes
 * that item, or nothing when they are equal. `replace` also removes items that the file does not contain.
 * @throws LancelotError `not_found`, `invalid_params`, `too_large` for files and blocks; then nothing changes
 */
export async function importMemory(
  deps: ImportDeps,
  params: Params<"memory.import">,
  author: Author,
  parentId: string | null,
): Promise<Result<"memory.import">> {
  const lines = parseImport(await readImportFile(params.path, deps.storage.dataDir));
  const reason = deps.scrub(`Imported from ${basename(params.path).slice(0, 200).toWellFormed()}.`);
  const { wanted, waiting, refused } = await judgeAll(deps, lines, author, reason);
  if (params.mode === "replace" && wanted.length === 0) {
    const why = refused[0] === undefined ? "" : ` Line ${String(refused[0].line)}: ${refused[0].reason}`;
    throw new LancelotError("invalid_params", `No line of the file can be imported, so nothing was replaced.${why}`);
  }
  return deps.storage.transaction(() => {
    const plan = planOf(deps, wanted, params.mode, reason);
    const counts = { added: plan.added, updated: plan.updated, unchanged: plan.unchanged, removed: plan.removals.length };
    const pending = new Set(deps.quarantine.list({ status: "pending", limit: 10_000 }).map(({ edit }) => keyOf(edit)));
    const news = waiting.filter(({ edit }) => !pending.has(keyOf(edit)));
    const edits = [...plan.removals, ...plan.edits];
    if (params.dryRun || edits.length + news.length === 0) return { commitId: null, ...counts, refused };
    const { commitId } = deps.commits.apply(edits, author, { reason, parentId });
    for (const { entry, edit } of news) {
      const item = entry.itemId === null ? null : deps.store.get(entry.itemId);
      deps.quarantine.put({
        commitId,
        questId: null,
        author: entry.author,
        edit,
        itemId: item?.id ?? null,
        itemVersion: item?.version ?? null,
        image: null,
        why: "It was pending when the backup was made.",
      });
    }
    return { commitId, ...counts, refused };
  });
}

async function judgeAll(
  deps: ImportDeps,
  lines: readonly ParsedLine[],
  author: Author,
  reason: string,
): Promise<{ wanted: AcceptedLine[]; waiting: PendingLine[]; refused: Refused[] }> {
  const wanted: AcceptedLine[] = [];
  const waiting: PendingLine[] = [];
  const refused: Refused[] = [];
  for (const [index, parsed] of lines.entries()) {
    if (index % batch === batch - 1) await setImmediate();
    const { line } = parsed;
    if ("reason" in parsed) refused.push({ line, reason: parsed.reason });
    else if ("item" in parsed) {
      const judged = judgeItem(deps, parsed.item, author, reason);
      if ("refusal" in judged) refused.push({ line, reason: judged.refusal });
      else wanted.push({ line, edit: judged.edit });
    } else {
      const judged = judgePending(deps, parsed.quarantine);
      if ("refusal" in judged) refused.push({ line, reason: judged.refusal });
      else waiting.push({ line, entry: parsed.quarantine, edit: judged.edit });
    }
  }
  return { wanted, waiting, refused };
}

function judgeItem(deps: ImportDeps, item: ItemLine, author: Author, reason: string): { edit: AcceptedLine["edit"] } | { refusal: string } {
  const { settings } = deps;
  const at = deps.now();
  const expiresAt = item.target === "working" ? endOf(item, at, settings()) : null;
  if (expiresAt !== null && expiresAt <= at) return { refusal: "It has expired." };
  const { id } = item;
  // Names pass no gate.
  if ([id, item.namespace, item.questId].some((name) => typeof name === "string" && deps.scrub(name) !== name))
    return { refusal: "Its id or namespace looks like a secret." };
  const judged = knownEdit(deps, item, reason) ?? gatedEdit(deps, item, author, reason);
  if ("refusal" in judged) return judged;
  const { edit } = judged;
  const past = (text: string | undefined): number => Math.min(text === undefined ? at : Date.parse(text), at);
  const createdAt = past(item.createdAt);
  const updatedAt = Math.max(createdAt, past(item.updatedAt));
  const imported = {
    id: id ?? "",
    questId: edit.namespace.startsWith("quest:") ? edit.namespace.slice("quest:".length) : item.questId,
    createdAt,
    updatedAt,
    expiresAt,
    reinforcedAt: item.reinforcedAt === undefined ? updatedAt : past(item.reinforcedAt),
    reinforced: item.reinforced,
  };
  // Without an id it is a new item that only keeps its dates.
  return { edit: { ...edit, ...(id === undefined ? {} : { imported }) } };
}

function gatedEdit(
  { gates }: ImportDeps,
  { target, namespace, kind, content, confidence, tags, provenance }: ItemLine,
  author: Author,
  reason: string,
): { edit: AcceptedLine["edit"] } | { refusal: string } {
  const verdict = gates.judge({ op: "insert", target, namespace, kind, content, confidence, tags, provenance, reason }, author);
  if (verdict.kind === "refuse") return { refusal: verdict.problem.message };
  if (verdict.kind === "quarantine") return { refusal: verdict.why };
  const { edit } = verdict;
  return edit.content === null ? { refusal: "It has no text." } : { edit: { ...edit, content: edit.content } };
}

/** An existing item equal to the line. It passed the gates when it was written. */
function knownEdit({ store }: ImportDeps, item: ItemLine, reason: string): { edit: AcceptedLine["edit"] } | null {
  const known = item.id === undefined ? null : store.get(item.id);
  if (known === null || known.ref !== null || known.content !== item.content || known.kind !== item.kind) return null;
  const { namespace, kind, content, confidence, tags, provenance } = known;
  const edit = {
    op: "insert" as const,
    target: targetOf(known),
    namespace,
    selector: null,
    content,
    kind,
    tags,
    confidence,
    provenance,
    reason,
  };
  const same =
    edit.target === item.target &&
    namespace === item.namespace &&
    confidence === item.confidence &&
    tags.join("\n") === item.tags.join("\n") &&
    provenance.source === item.provenance.source &&
    provenance.ref === item.provenance.ref;
  return same ? { edit: { ...edit, ttlSeconds: null } } : null;
}

function endOf(item: ItemLine, at: number, settings: MemorySettings): number {
  return item.expiresAt === null ? at + settings.working_hours * 3_600_000 : Math.min(Date.parse(item.expiresAt), at + longest);
}

/** A pending edit is judged as an agent's, so it can only become pending again. */
function judgePending({ gates, store }: ImportDeps, entry: QuarantineLine): { edit: GatedEdit } | { refusal: string } {
  const { op, selector, ttlSeconds, ...rest } = entry.edit;
  const isQuarantinedItem = op === "set_aside";
  const gone = !isQuarantinedItem && op !== "insert" && (entry.itemId === null || store.get(entry.itemId) === null);
  if (gone) return { refusal: "The item that the pending edit changes does not exist here." };
  const content = isQuarantinedItem ? (entry.image?.content ?? entry.edit.content) : rest.content;
  const proposed = {
    ...rest,
    op: isQuarantinedItem ? ("insert" as const) : op,
    content: content ?? undefined,
    ...(selector === null || isQuarantinedItem ? {} : { selector: entry.itemId ?? selector }),
    ...(ttlSeconds === null ? {} : { ttlSeconds }),
  };
  const verdict = gates.judge(proposed, { by: "owner", questId: null });
  return verdict.kind === "refuse" ? { refusal: verdict.problem.message } : { edit: verdict.edit };
}

const keyOf = ({ op, target, content }: GatedEdit): string => JSON.stringify([op, target, content]);

interface Plan {
  readonly edits: GatedEdit[];
  readonly removals: GatedEdit[];
  readonly added: number;
  readonly updated: number;
  readonly unchanged: number;
}

/** The edits that bring memory to the imported state, from its state now. */
function planOf(deps: ImportDeps, wanted: readonly AcceptedLine[], mode: "merge" | "replace", reason: string): Plan {
  const { store } = deps;
  const edits: GatedEdit[] = [];
  const kept = new Set<string>();
  const seen = new Set<string>();
  const at = deps.now();
  const alive = (item: StoredItem | null): StoredItem | null =>
    item === null || (item.expiresAt !== null && item.expiresAt <= at) ? null : item;
  let added = 0;
  let updated = 0;
  let unchanged = 0;
  for (const { edit } of wanted) {
    const key = `${edit.target}\n${edit.namespace}\n${foldText(edit.content)}`;
    if (seen.has(key)) {
      unchanged += 1;
      continue;
    }
    seen.add(key);
    const named = edit.imported === undefined ? null : alive(store.get(edit.imported.id));
    const known = named ?? alive(store.same(edit));
    if (known === null) {
      edits.push(edit);
      added += 1;
      continue;
    }
    if (kept.has(known.id)) {
      unchanged += 1;
      continue;
    }
    kept.add(known.id);
    if (known.ref !== null || says(known, edit, named !== null)) {
      unchanged += 1;
      continue;
    }
    updated += 1;
    const { imported: _, ...plain } = edit;
    const moved = targetOf(known) !== edit.target || known.namespace !== edit.namespace;
    if (moved) edits.push(removalOf(known, reason), plain);
    else edits.push({ ...plain, op: "replace", selector: known.id });
  }
  const removals =
    mode === "merge" ? [] : [...itemPages(deps)].flat().flatMap((item) => (kept.has(item.id) ? [] : [removalOf(item, reason)]));
  return { edits, removals, added, updated, unchanged };
}

/** Whether an item equals a line. An item that matched by text is not compared further. */
function says(item: StoredItem, edit: AcceptedLine["edit"], byId: boolean): boolean {
  if (!byId) return true;
  return (
    targetOf(item) === edit.target &&
    item.namespace === edit.namespace &&
    item.content === edit.content &&
    item.confidence === edit.confidence &&
    item.provenance.source === edit.provenance.source &&
    (edit.tags.length === 0 || item.tags.join("\n") === edit.tags.join("\n"))
  );
}
