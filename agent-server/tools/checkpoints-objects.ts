import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { LancelotError } from "../contract/errors.ts";
import { errno } from "./providers/file-errors.ts";
import { sha256 } from "./text/encoding.ts";

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** Above this many bytes a file is copied through as it is, without holding it in memory. */
const compressBelow = 8 * 1024 * 1024;

/** File contents by their SHA-256, each stored once, in the data folder and never in the user's repository. */
export interface ObjectStore {
  put(bytes: Uint8Array): Promise<string>;
  /** Stores what an open file holds, however large. */
  putFile(handle: FileHandle, size: number): Promise<string>;
  /** @throws LancelotError `not_found` when it is gone or damaged. */
  get(hash: string): Promise<Buffer>;
}

export function createObjectStore(dataDir: string): ObjectStore {
  const root = join(dataDir, "objects");
  const place = (hash: string) => join(root, hash.slice(0, 2), hash.slice(2));

  async function has(hash: string): Promise<boolean> {
    for (const name of [place(hash), `${place(hash)}.gz`]) {
      try {
        await stat(name);
        return true;
      } catch (error) {
        if (errno(error) !== "ENOENT") throw error;
      }
    }
    return false;
  }

  async function store(path: string, write: (handle: FileHandle) => Promise<void>): Promise<void> {
    await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
    const temporary = join(root, `${randomBytes(8).toString("hex")}.tmp`);
    const handle = await open(temporary, "wx", 0o600);
    try {
      await write(handle);
      await handle.sync();
    } catch (error) {
      await handle.close();
      await unlink(temporary).catch(() => undefined);
      throw error;
    }
    await handle.close();
    await rename(temporary, path);
  }

  return {
    async put(bytes) {
      const hash = sha256(bytes);
      if (await has(hash)) return hash;
      const small = bytes.byteLength < compressBelow ? await zip(bytes, { level: 6 }) : null;
      if (small !== null && small.byteLength < bytes.byteLength) await store(`${place(hash)}.gz`, (handle) => handle.writeFile(small));
      else await store(place(hash), (handle) => handle.writeFile(bytes));
      return hash;
    },

    async putFile(handle, size) {
      if (size < compressBelow) return this.put(await handle.readFile());
      await mkdir(root, { recursive: true, mode: 0o700 });
      const temporary = join(root, `${randomBytes(8).toString("hex")}.tmp`);
      const copy = await open(temporary, "wx", 0o600);
      const digest = createHash("sha256");
      try {
        for await (const chunk of createReadStream("", { fd: handle, autoClose: false, start: 0 })) {
          digest.update(chunk as Buffer);
          await copy.write(chunk as Buffer);
        }
        await copy.sync();
        const hash = digest.digest("hex");
        await copy.close();
        await mkdir(join(place(hash), ".."), { recursive: true, mode: 0o700 });
        await rename(temporary, place(hash));
        return hash;
      } catch (error) {
        await copy.close().catch(() => undefined);
        await unlink(temporary).catch(() => undefined);
        throw error;
      }
    },

    async get(hash) {
      const bytes = await readObject(place(hash));
      if (sha256(bytes) !== hash) throw new LancelotError("not_found", "A stored file version is damaged; it cannot be restored.");
      return bytes;
    },
  };
}

async function readObject(path: string): Promise<Buffer> {
  try {
    return await unzip(await readFile(`${path}.gz`));
  } catch (error) {
    if (errno(error) !== "ENOENT")
      throw new LancelotError("not_found", "A stored file version is damaged; it cannot be restored.", { cause: error });
  }
  try {
    return await readFile(path);
  } catch (error) {
    throw new LancelotError("not_found", "A stored file version is gone from the data folder; it cannot be restored.", { cause: error });
  }
}
