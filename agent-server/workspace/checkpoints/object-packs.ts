import { type FileHandle, mkdir, open, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { Storage } from "../../storage/storage.ts";
import { errno } from "../file-errors.ts";

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Bytes of content per compressed block, and the size at which a new pack is started. */
const blockBytes = 1024 * 1024;
const packBytes = 64 * 1024 * 1024;
/** Number of uncompressed blocks in the cache; files of one folder are usually in the same block. */
const keptBlocks = 4;

/**
 * Stores many small contents in few files. The first scan of a workspace may store a hundred thousand contents, and one file and flush per
 * content would take minutes. The database holds the position of each.
 */
export interface Packs {
  /** True when the content exists; using it also protects it from collection for a while. */
  use(hash: string): boolean;
  /** Null when it does not exist. */
  get(hash: string): Promise<Buffer | null>;
  writer(): PackWriter;
  /** All packs, with the bytes of the contents that are still referenced. */
  list(): { id: number; bytes: number; live: number }[];
  /** Hashes that were not used since `before` (ms since 1970). */
  idle(before: number): string[];
  /** Deletes the entries that are still idle. @returns their number. */
  forget(hashes: readonly string[], before: number): number;
  /** Frees space: rewrites packs that are mostly unused and removes packs of hosts that died. */
  compact(): Promise<void>;
}

export interface PackWriter {
  /** Existing contents are not written again. */
  add(hash: string, bytes: Buffer): Promise<void>;
  /** Durable when it returns. */
  end(): Promise<void>;
  /** Discards everything that is not durable yet. */
  abort(): Promise<void>;
}

interface Place {
  pack: number;
  at: number;
  stored: number;
  compressed: number;
  start: number;
  size: number;
  /** Size of the uncompressed block in bytes. */
  whole: number;
}

export function createPacks({ storage, now = Date.now }: { storage: Storage; now?: () => number }): Packs {
  const { db } = storage;
  const folder = join(storage.dataDir, "objects", "packs");
  const fileOf = (id: number) => join(folder, `${id}.pack`);
  const find = db.prepare<[Buffer], Place>("SELECT pack, at, stored, compressed, start, size, whole FROM packed_objects WHERE hash = ?");
  const touch = db.prepare("UPDATE packed_objects SET used_at = ? WHERE hash = ?");
  const insert = db.prepare(
    "INSERT INTO packed_objects (hash, pack, at, stored, compressed, start, size, whole, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at",
  );
  const move = db.prepare(
    "UPDATE packed_objects SET pack = ?, at = ?, stored = ?, compressed = ?, start = ?, size = ?, whole = ? WHERE hash = ?",
  );
  const begin = db.prepare("INSERT INTO packs (host_id) VALUES (?)");
  const finish = db.prepare("UPDATE packs SET bytes = ?, done = 1 WHERE id = ?");
  const drop = db.prepare("DELETE FROM packs WHERE id = ?");
  const all = db.prepare<[], { id: number; bytes: number; live: number }>(
    `SELECT id, bytes, COALESCE((SELECT sum(stored * 1.0 * size / whole) FROM packed_objects WHERE pack = packs.id AND whole > 0), 0) AS live
     FROM packs WHERE done = 1 ORDER BY id`,
  );
  const holds = db.prepare("SELECT 1 FROM packed_objects WHERE pack = ? LIMIT 1");
  const undone = db.prepare<[], { id: number; host_id: string }>("SELECT id, host_id FROM packs WHERE done = 0");
  const known = db.prepare<[number], { id: number }>("SELECT id FROM packs WHERE id = ?");
  const inPack = db.prepare<[number], Place & { hash: Buffer }>(
    "SELECT hash, pack, at, stored, compressed, start, size, whole FROM packed_objects WHERE pack = ? ORDER BY at, start",
  );
  const unused = db.prepare<[number], { hash: Buffer }>("SELECT hash FROM packed_objects WHERE used_at < ?");
  const remove = db.prepare("DELETE FROM packed_objects WHERE hash = ? AND used_at < ?");
  const blocks = new Map<string, Buffer>();

  async function block({ pack, at, stored, compressed }: Place): Promise<Buffer> {
    const key = `${pack} ${at}`;
    const kept = blocks.get(key);
    if (kept !== undefined) return kept;
    const handle = await open(fileOf(pack));
    try {
      const bytes = Buffer.alloc(stored);
      const { bytesRead } = await handle.read(bytes, 0, stored, at);
      if (bytesRead !== stored) throw new Error("A pack is shorter than it was.");
      const whole = compressed === 1 ? await inflate(bytes) : bytes;
      blocks.set(key, whole);
      for (const oldest of blocks.keys()) if (blocks.size > keptBlocks) blocks.delete(oldest);
      return whole;
    } finally {
      await handle.close();
    }
  }

  async function get(hash: string): Promise<Buffer | null> {
    // Another window may rewrite a pack between the lookup and the opening.
    for (let tries = 0; ; tries += 1) {
      const place = find.get(Buffer.from(hash, "hex"));
      if (place === undefined) return null;
      try {
        const whole = await block(place);
        return whole.subarray(place.start, place.start + place.size);
      } catch (error) {
        if (errno(error) !== "ENOENT" || tries > 0) throw error;
      }
    }
  }

  /** `moves`: contents move here from another pack. */
  function writer({ moves }: { moves: boolean }): PackWriter {
    let current: { id: number; handle: FileHandle; at: number } | null = null;
    let pending: { hash: string; bytes: Buffer }[] = [];
    let size = 0;
    let rows: (Place & { hash: string })[] = [];
    const added = new Set<string>();

    async function openPack(): Promise<NonNullable<typeof current>> {
      if (current !== null) return current;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const id = Number(begin.run(storage.hostId).lastInsertRowid);
      current = { id, handle: await open(fileOf(id), "wx", 0o600), at: 0 };
      return current;
    }

    async function flushBlock(): Promise<void> {
      if (pending.length === 0) return;
      const whole = Buffer.concat(pending.map(({ bytes }) => bytes));
      const small = await deflate(whole, { level: 1 });
      const compressed = small.byteLength < whole.byteLength * 0.95;
      const stored = compressed ? small : whole;
      const pack = await openPack();
      let written = 0;
      while (written < stored.byteLength)
        written += (await pack.handle.write(stored, written, stored.byteLength - written, pack.at + written)).bytesWritten;
      let start = 0;
      for (const { hash, bytes } of pending) {
        rows.push({
          hash,
          pack: pack.id,
          at: pack.at,
          stored: stored.byteLength,
          compressed: compressed ? 1 : 0,
          start,
          size: bytes.byteLength,
          whole: whole.byteLength,
        });
        start += bytes.byteLength;
      }
      pack.at += stored.byteLength;
      pending = [];
      size = 0;
      if (pack.at >= packBytes) await endPack();
    }

    async function endPack(): Promise<void> {
      if (current === null) return;
      const { id, handle, at } = current;
      await handle.sync();
      await handle.close();
      current = null;
      const done = rows;
      rows = [];
      storage.transaction(() => {
        for (const row of done) {
          const key = Buffer.from(row.hash, "hex");
          const place = [row.pack, row.at, row.stored, row.compressed, row.start, row.size, row.whole];
          if (moves) move.run(...place, key);
          else insert.run(key, ...place, now());
        }
        finish.run(at, id);
      });
    }

    return {
      async add(hash, bytes) {
        if (added.has(hash) || (!moves && use(hash))) return;
        added.add(hash);
        pending.push({ hash, bytes });
        size += bytes.byteLength;
        if (size >= blockBytes) await flushBlock();
      },
      async end() {
        await flushBlock();
        await endPack();
      },
      async abort() {
        if (current === null) return;
        const { id, handle } = current;
        current = null;
        await handle.close().catch(() => undefined);
        await unlink(fileOf(id)).catch(() => undefined);
        drop.run(id);
      },
    };
  }

  function use(hash: string): boolean {
    return touch.run(now(), Buffer.from(hash, "hex")).changes === 1;
  }

  async function removePack(id: number): Promise<void> {
    drop.run(id);
    // Some systems refuse to delete a file that another window has open. The next run removes it.
    await unlink(fileOf(id)).catch(() => undefined);
  }

  return {
    use,
    get,
    writer: () => writer({ moves: false }),
    list: () => all.all(),
    idle: (before) => unused.all(before).map(({ hash }) => hash.toString("hex")),
    forget: (hashes, before) => {
      let count = 0;
      for (const hash of hashes) count += remove.run(Buffer.from(hash, "hex"), before).changes;
      return count;
    },
    async compact() {
      for (const { id, host_id: host } of undone.all()) if (host !== storage.hostId && !storage.hostAlive(host)) await removePack(id);
      for (const name of await readdir(folder).catch((): string[] => [])) {
        const id = /^(\d+)\.pack$/.exec(name)?.[1];
        if (id !== undefined && known.get(Number(id)) === undefined) await unlink(join(folder, name)).catch(() => undefined);
      }
      for (const { id, bytes, live } of all.all()) {
        const empty = holds.get(id) === undefined;
        if (!empty && live > bytes / 2) continue;
        if (!empty) await rewrite(id);
        await removePack(id);
      }
    },
  };

  async function rewrite(id: number): Promise<void> {
    const compacted = writer({ moves: true });
    try {
      for (const place of inPack.all(id)) {
        const bytes = await block(place);
        await compacted.add(place.hash.toString("hex"), bytes.subarray(place.start, place.start + place.size));
      }
      await compacted.end();
    } catch (error) {
      await compacted.abort();
      throw error;
    }
  }
}
