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

/** Of a file this much is looked at (bytes) to see whether it is another one. */
const hashedBytes = 2_000_000;
/** Files that changed are read again, at most this many at once. */
const readAgain = 10;

interface Deps {
  store: QuestStore;
  kept: ContextStore;
  context: Pick<Context, "attached">;
  governance: Pick<Governance, "resolvePath">;
  changes: Pick<ChangeReview, "list">;
}

/**
 * What a file or folder is now, to tell later whether it is another one. The time of its change says at once that it is the same;
 * when that differs, its bytes decide. Null when there is none.
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

/** Two stamps of the same contents; of folders their times decide. */
function isSame(one: string, other: string): boolean {
  const [, , hash] = one.split(":");
  const [, , otherHash] = other.split(":");
  return one === other || (hash !== "" && hash === otherHash && one.split(":")[1] === other.split(":")[1]);
}

/** Reads again what the owner put into the context and what changed on the disk since. */
export async function refreshItems({ kept, context, governance }: Deps, questId: string, trace: Trace): Promise<void> {
  for (const item of kept.items(questId)) {
    if (item.kind !== "file" || item.state === "left_out") continue;
    const stamp = await stampOf(governance, item.path, item.stamp);
    if (stamp === item.stamp) continue;
    if (stamp === null) {
      if (item.stamp !== "")
        kept.putItem(questId, { ...item, stamp: "", text: `(${item.path} is no longer there: it was deleted.)`, findings: [] });
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
 * Looks whether files that stand in the conversation are others on the disk by now, without this task's doing. What the owner gave
 * is read again, of what the model read it is told; of what is gone both. One message, so that what was said before stays as it is.
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
      // Read in this very run: as it is now is as it was told. A file that is not on the disk yet was proposed.
      kept.putLoaded(questId, { path, stamp: stamp ?? "", seq });
      continue;
    }
    if ((stamp ?? "") === row.stamp) continue;
    const same = stamp !== null && isSame(stamp, row.stamp);
    if (same || row.stamp === "" || isOwnDoing(deps, questId, messages, path, row.seq)) {
      // What the task did up to here is known; what comes after is looked at anew.
      kept.putLoaded(questId, { path, stamp: stamp ?? "", seq: same ? row.seq : next });
      continue;
    }
    changed.push({ path, byOwner, stamp });
  }
  if (changed.length === 0) return;
  const content: ContextUserContent[] = [];
  const words: string[] = [];
  for (const [index, { path, byOwner, stamp }] of changed.entries()) {
    if (stamp === null) {
      words.push(`${path} was deleted since it was read.`);
      continue;
    }
    const read = byOwner && index < readAgain ? await context.attached(path, trace) : null;
    if (read?.ok === true) {
      words.push(`${path} changed since it was read; this is its text now.`);
      content.push({
        type: "text",
        text: read.text,
        attached: true,
        path,
        ...(read.findings.length === 0 ? {} : { findings: read.findings }),
      });
    } else words.push(`${path} changed since it was read: read it again before you rely on it.`);
  }
  store.transaction(() => {
    const parts: Part[] = [notice("info", noticeWords(changed))];
    const text = `[From the host: ${words.join(" ")}]`;
    const { seq } = store.addMessage({
      questId,
      role: "user",
      parts,
      turn: { kind: "user", content: [{ type: "text", text }, ...content] },
    });
    for (const { path, stamp } of changed) kept.putLoaded(questId, { path, stamp: stamp ?? "", seq });
  });
}

function noticeWords(changed: readonly { path: string; stamp: string | null }[]): string {
  const list = (of: readonly { path: string }[]): string => of.map(({ path }) => path).join(", ");
  const gone = changed.filter(({ stamp }) => stamp === null);
  const other = changed.filter(({ stamp }) => stamp !== null);
  return [
    ...(other.length === 0 ? [] : [`Changed on disk since they were read, which the model was told: ${list(other)}.`]),
    ...(gone.length === 0 ? [] : [`Deleted since they were read, which the model was told: ${list(gone)}.`]),
  ].join(" ");
}

/** True when this task itself changed the file since: then the model knows. */
function isOwnDoing({ changes }: Deps, questId: string, messages: readonly StoredMessage[], path: string, since: number): boolean {
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
