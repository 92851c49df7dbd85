import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { fromBytes, toBytes } from "../byte-path.ts";
import { errno } from "../file-errors.ts";
import { emptyFolder, type Folder, foldersOf } from "./file-tree.ts";

const magic = Buffer.from("lancelot tree 1\n");
const digestBytes = 32;
const terminator = Buffer.of(0);

/**
 * Binary format of a tree. For each folder: its path, permissions, a zero, names (each ends with NUL), numbers and hashes; then a SHA-256
 * of everything. Paths and names are the bytes on the disk, which never contain NUL.
 */
function encode(root: Folder): Buffer[] {
  const chunks: Buffer[] = [magic];
  for (const folder of foldersOf(root)) {
    const path = toBytes(folder.path);
    const names = Buffer.concat(folder.names.flatMap((name) => [toBytes(name), terminator]));
    const head = Buffer.alloc(20);
    head.writeUInt32LE(path.byteLength, 0);
    head.writeUInt32LE(folder.mode, 4);
    head.writeUInt32LE(folder.names.length, 12);
    head.writeUInt32LE(names.byteLength, 16);
    const { numbers, hashes } = folder;
    chunks.push(
      head,
      path,
      names,
      Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength),
      Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength),
    );
  }
  const digest = createHash("sha256");
  for (const chunk of chunks) digest.update(chunk);
  chunks.push(digest.digest());
  return chunks;
}

/** Names between their terminators. Without any other byte than UTF-8, the whole block is decoded at once. */
function namesOf(block: Buffer): string[] {
  const text = block.toString();
  if (!text.includes("\ufffd")) return text.split("\0").slice(0, -1);
  const names: string[] = [];
  for (let at = 0; at < block.byteLength; ) {
    const end = block.indexOf(0, at);
    names.push(fromBytes(block.subarray(at, end)));
    at = end + 1;
  }
  return names;
}

function decode(bytes: Buffer): Folder | null {
  const end = bytes.byteLength - digestBytes;
  if (end < magic.byteLength || !bytes.subarray(0, magic.byteLength).equals(magic)) return null;
  if (!createHash("sha256").update(bytes.subarray(0, end)).digest().equals(bytes.subarray(end))) return null;
  const byPath = new Map<string, Folder>();
  let root: Folder | null = null;
  for (let at = magic.byteLength; at < end; ) {
    const pathBytes = bytes.readUInt32LE(at);
    const mode = bytes.readUInt32LE(at + 4);
    // Earlier versions stored other names in place of those that are not UTF-8, marked here or with a slash.
    const isForeign = bytes.readUInt32LE(at + 8) === 1;
    const count = bytes.readUInt32LE(at + 12);
    const nameBytes = bytes.readUInt32LE(at + 16);
    at += 20;
    const path = fromBytes(bytes.subarray(at, at + pathBytes));
    at += pathBytes;
    const names = namesOf(bytes.subarray(at, at + nameBytes));
    if (isForeign || names.length !== count || names.some((name) => name.startsWith("/"))) return null;
    at += nameBytes;
    const folder = emptyFolder(path, mode, names);
    const { numbers, hashes } = folder;
    bytes.copy(Buffer.from(numbers.buffer), 0, at, at + numbers.byteLength);
    at += numbers.byteLength;
    bytes.copy(Buffer.from(hashes.buffer), 0, at, at + hashes.byteLength);
    at += hashes.byteLength;
    byPath.set(path, folder);
    if (path === "") root = folder;
    else {
      const slash = path.lastIndexOf("/");
      byPath.get(slash === -1 ? "" : path.slice(0, slash))?.folders.set(path.slice(slash + 1), folder);
    }
  }
  return root;
}

/** Writes a tree atomically; durable when it returns. */
export async function saveTree(path: string, root: Folder): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const handle = await open(temporary, "wx", 0o600);
  try {
    const chunks = encode(root);
    // The system accepts about a thousand buffers per call.
    for (let at = 0; at < chunks.length; at += 1000) await handle.writeFile(Buffer.concat(chunks.slice(at, at + 1000)));
    await handle.sync();
    await handle.close();
    await rename(temporary, path);
    await flushFolder(dirname(path));
  } catch (error) {
    await handle.close().catch(() => undefined);
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

/** Null when the file does not exist or is damaged. */
export async function loadTree(path: string): Promise<Folder | null> {
  try {
    return decode(await readFile(path));
  } catch (error) {
    if (errno(error) === "ENOENT") return null;
    throw error;
  }
}

/** Makes the new name durable. Some systems do not support this and do not need it. */
async function flushFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Windows cannot open folders.
  }
}
