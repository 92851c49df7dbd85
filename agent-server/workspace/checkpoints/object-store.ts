import { createHash, randomBytes } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { chmod, copyFile, type FileHandle, mkdir, open, readFile, rename, unlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { LancelotError } from "../../contract/errors.ts";
import type { Packs } from "./object-packs.ts";
import { itself } from "../descriptor-paths.ts";
import { errno } from "../file-errors.ts";
import { sha256 } from "../text/encoding.ts";

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** Files above this many bytes are copied uncompressed, without loading them into memory. */
const compressBelow = 8 * 1024 * 1024;

/** File contents by SHA-256, each stored once, in the data folder and never in the user's repository. */
export interface ObjectStore {
  put(bytes: Uint8Array): Promise<string>;
  /** Stores the content of an open file of any size. */
  putFile(handle: FileHandle, size: number): Promise<string>;
  /** @throws LancelotError `not_found` when the content is missing or damaged. */
  get(hash: string): Promise<Buffer>;
  /** True when the content exists; using it also protects it from collection for a while. */
  use(hash: string): Promise<boolean>;
  readonly packs: Packs | undefined;
}

/** @param packs storage for many small contents; without it, each content is a separate file */
export function createObjectStore(dataDir: string, packs?: Packs): ObjectStore {
  const root = join(dataDir, "objects");
  const place = (hash: string) => join(root, hash.slice(0, 2), hash.slice(2));

  /** Checks existence by updating the access time, so that no window collects recently used content. */
  async function use(hash: string): Promise<boolean> {
    if (packs?.use(hash) === true) return true;
    const at = new Date();
    for (const name of [place(hash), `${place(hash)}.gz`]) {
      try {
        await utimes(name, at, at);
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
      if (await use(hash)) return hash;
      const small = bytes.byteLength < compressBelow ? await zip(bytes, { level: 6 }) : null;
      if (small !== null && small.byteLength < bytes.byteLength) await store(`${place(hash)}.gz`, (handle) => handle.writeFile(small));
      else await store(place(hash), (handle) => handle.writeFile(bytes));
      return hash;
    },

    async putFile(handle, size) {
      if (size < compressBelow) return this.put(await handle.readFile());
      await mkdir(root, { recursive: true, mode: 0o700 });
      const temporary = join(root, `${randomBytes(8).toString("hex")}.tmp`);
      try {
        // Copies with shared blocks where the file system supports it, and hashes the copy, so that concurrent writes cannot change the
        // result.
        if (process.platform === "linux") await copyFile(itself(handle.fd), temporary, constants.COPYFILE_FICLONE);
        else
          await pipeline(createReadStream("", { fd: handle, autoClose: false, start: 0 }), createWriteStream(temporary, { flags: "wx" }));
        await chmod(temporary, 0o600);
        const copy = await open(temporary, "r+");
        let hash: string;
        try {
          const digest = createHash("sha256");
          for await (const chunk of createReadStream("", { fd: copy, autoClose: false, start: 0 })) digest.update(chunk as Buffer);
          hash = digest.digest("hex");
          await copy.sync();
        } finally {
          await copy.close();
        }
        if (await use(hash)) await unlink(temporary);
        else {
          await mkdir(join(place(hash), ".."), { recursive: true, mode: 0o700 });
          await rename(temporary, place(hash));
        }
        return hash;
      } catch (error) {
        await unlink(temporary).catch(() => undefined);
        throw error;
      }
    },

    use,
    packs,

    async get(hash) {
      const bytes = (await packed(packs, hash)) ?? (await readObject(place(hash)));
      if (sha256(bytes) !== hash) throw new LancelotError("not_found", "A stored file version is damaged and cannot be restored.");
      return bytes;
    },
  };
}

async function packed(packs: Packs | undefined, hash: string): Promise<Buffer | null> {
  try {
    return (await packs?.get(hash)) ?? null;
  } catch (error) {
    throw new LancelotError("not_found", "A stored file version is damaged and cannot be restored.", { cause: error });
  }
}

async function readObject(path: string): Promise<Buffer> {
  try {
    return await unzip(await readFile(`${path}.gz`));
  } catch (error) {
    if (errno(error) !== "ENOENT")
      throw new LancelotError("not_found", "A stored file version is damaged and cannot be restored.", { cause: error });
  }
  try {
    return await readFile(path);
  } catch (error) {
    throw new LancelotError("not_found", "A stored file version is missing from the data folder and cannot be restored.", { cause: error });
  }
}
