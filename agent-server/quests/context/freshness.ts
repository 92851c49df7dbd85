import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { Part } from "../../contract/chat.ts";
import type { Context, ContextUserContent, Trace } from "../../context/context.ts";
import type { Governance } from "../../governance/governance.ts";
import type { ChangeReview } from "../../workspace/workspace.ts";
import type { ContextStore, KeptItem } from "./context-store.ts";
import { notice } from "../notices.ts";
import { fileOf, type QuestPiece } from "./quest-pieces.ts";
import type { QuestStore } from "../quest-store.ts";
import type { StoredMessage } from "../stored-quest.ts";

/** The leading bytes of a file that are hashed to detect a change. */
const hashedBytes = 2_000_000;
/** Maximum number of changed files that are read again at once. */
const maxRereads = 10;

interface Deps {
  store: QuestStore;
  kept: ContextStore;
  context: Pick<Context, "attached">;
  governance: Pick<Governance, "resolvePath">;
  changes: Pick<ChangeReview, "list">;
}

/**
 * Identifies the current version of a file or folder. An unchanged modification time and size mean the same version; otherwise the
 * hash of the contents decides. Null when the path does not exist.
 */
export async function stampOf(governance: Pick<Governance, "resolvePath">, path: string, known = ""): Promise<string | null> {
  const resolved = governance.resolvePath(path);
  if (!resolved.ok || !resolved.inside || (resolved.type !== "file" && resolved.type !== "directory")) return null;
  const handle = await open(resolved.absolute, "r").catch(() => null);
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    const quick = `${String(stats.mtimeMs)}:${String(stats.size)}`;
    if (known.startsWith(`${quick}:`)) return known;
    if (!stats.isFile()) return `${quick}:`;
    const buffer = Buffer.alloc(Math.min(stats.size, hashedBytes));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return `${quick}:${createHash("sha256").update(buffer.subarray(0, bytesRead)).digest("hex")}`;
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}

/** True when two stamps identify the same contents. Folders are compared by time. */
function isSame(one: string, other: string): boolean {
  const [, , hash] = one.split(":");
  const [, , otherHash] = other.split(":");
  return one === other || (hash !== "" && hash === otherHash && one.split(":")[1] === other.split(":")[1]);
}

/** Reads the files again that the user added to the context and that changed on disk since. */
export async function refreshItems({ kept, context, governance }: Deps, questId: string, trace: Trace): Promise<void> {
  for (const item of kept.items(questId)) {
    if (item.kind !== "file" || item.state === "left_out") continue;
    const stamp = await stampOf(governance, item.path, item.stamp);
    if (stamp === item.stamp) continue;
    if (stamp === null) {
      if (item.stamp !== "") kept.putItem(questId, { ...item, stamp: "", text: `(${item.path} was deleted.)`, findings: [] });
      continue;
    }
    if (isSame(stamp, item.stamp)) {
      kept.putItem(questId, { ...item, stamp });
      continue;
    }
    const read = await context.attached(item.path, trace);
    kept.putItem(
      questId,
      readItem(item, stamp, read.ok ? { text: read.text, findings: read.findings } : { text: `(${read.problem})`, findings: [] }),
    );
  }
}

function readItem(item: KeptItem, stamp: string, read: { text: string; findings: string[] }): KeptItem {
  return { ...item, stamp, ...read };
}

/**
 * Detects files of the conversation that something other than this quest changed on disk. Reads the files again that the user attached;
 * for the others, tells the model that they changed. Adds one message, so that the earlier prompt stays cacheable.
 */
export async function refreshLoaded(deps: Deps, questId: string, pieces: readonly QuestPiece[], trace: Trace): Promise<void> {
  const { store, kept, governance, context } = deps;
  const loads = new Map<string, { seq: number; byOwner: boolean }>();
  for (const { path, kind, seq, state, key } of pieces) {
    if (path === null || kind !== "file" || state !== "whole") continue;
    loads.set(path, { seq, byOwner: key.includes("#") });
  }
  if (loads.size === 0) return;
  const known = new Map(kept.loaded(questId).map((row) => [row.path, row]));
  const messages = store.messages(questId);
  const next = (messages.at(-1)?.message.seq ?? 0) + 1;
  const changed: { path: string; byOwner: boolean; stamp: string | null }[] = [];
  for (const [path, { seq, byOwner }] of loads) {
    const row = known.get(path);
    const stamp = await stampOf(governance, path, row?.stamp);
    if (row === undefined || row.seq < seq) {
      // The file was read in this run, so its current version is the one the model saw. A missing file was only proposed so far.
      kept.putLoaded(questId, { path, stamp: stamp ?? "", seq });
      continue;
    }
    if ((stamp ?? "") === row.stamp) continue;
    const same = stamp !== null && isSame(stamp, row.stamp);
    if (same || row.stamp === "" || wasChangedByQuest(deps, questId, messages, path, row.seq)) {
      // The model knows the changes of this quest, so only later changes count.
      kept.putLoaded(questId, { path, stamp: stamp ?? "", seq: same ? row.seq : next });
      continue;
    }
    changed.push({ path, byOwner, stamp });
  }
  if (changed.length === 0) return;
  const content: ContextUserContent[] = [];
  const sentences: string[] = [];
  for (const [index, { path, byOwner, stamp }] of changed.entries()) {
    if (stamp === null) {
      sentences.push(`${path} was deleted since it was read.`);
      continue;
    }
    const read = byOwner && index < maxRereads ? await context.attached(path, trace) : null;
    if (read?.ok === true) {
      sentences.push(`${path} changed since it was read. Its current text follows.`);
      content.push({
        type: "text",
        text: read.text,
        attached: true,
        path,
        ...(read.findings.length === 0 ? {} : { findings: read.findings }),
      });
    } else sentences.push(`${path} changed since it was read. Read it again before you rely on it.`);
  }
  store.transaction(() => {
    const parts: Part[] = [notice("info", noticeText(changed))];
    const text = `[From the host: ${sentences.join(" ")}]`;
    const { seq } = store.addMessage({
      questId,
      role: "user",
      parts,
      turn: { kind: "user", content: [{ type: "text", text }, ...content] },
    });
    for (const { path, stamp } of changed) kept.putLoaded(questId, { path, stamp: stamp ?? "", seq });
  });
}

function noticeText(changed: readonly { path: string; stamp: string | null }[]): string {
  const list = (of: readonly { path: string }[]): string => of.map(({ path }) => path).join(", ");
  const deleted = changed.filter(({ stamp }) => stamp === null);
  const modified = changed.filter(({ stamp }) => stamp !== null);
  return [
    ...(modified.length === 0 ? [] : [`Changed on disk since they were read; Lancelot informed the model: ${list(modified)}.`]),
    ...(deleted.length === 0 ? [] : [`Deleted since they were read; Lancelot informed the model: ${list(deleted)}.`]),
  ].join(" ");
}

/** True when this quest changed the file since, so that the model knows. */
function wasChangedByQuest({ changes }: Deps, questId: string, messages: readonly StoredMessage[], path: string, since: number): boolean {
  const later = messages.filter(({ message }) => message.seq >= since);
  const from = later[0]?.message.createdAt;
  if (from === undefined) return false;
  const byTool = later.some(({ message }) =>
    message.parts.some(
      (part) =>
        part.type === "tool" &&
        ((part.tier !== "T0" && fileOf(part) === path) || (part.touched?.files.some((file) => file.path === path) ?? false)),
    ),
  );
  if (byTool) return true;
  return changes
    .list({ questId, limit: 500 })
    .some((change) => change.path === path && change.updatedAt >= from && change.status !== "rejected");
}
