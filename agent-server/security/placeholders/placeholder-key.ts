import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";

const keyBytes = 32;

/**
 * Reads the data folder's placeholder key, creating it on first use: random, readable by its owner only. It is in no database, prompt or
 * log, so that nobody who sees a placeholder can find its value by guessing.
 * @throws LancelotError `unavailable` when the key can be neither read nor created
 */
export function readKey(dataDir: string): Buffer {
  const file = join(dataDir, "placeholders.key");
  const found = keyIn(file);
  if (found !== null) return found;
  const made = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(made, `${randomBytes(keyBytes).toString("base64")}\n`, { mode: 0o600, flag: "wx" });
    place(made, file);
  } catch (cause) {
    if (!isTaken(cause)) throw unusable(file, cause);
  } finally {
    rmSync(made, { force: true });
  }
  const key = keyIn(file);
  if (key === null) throw unusable(file, null);
  return key;
}

/** Creates the file only if it does not exist, so that two windows end up with the same key. */
function place(made: string, file: string): void {
  try {
    linkSync(made, file);
  } catch (cause) {
    if (isTaken(cause)) throw cause;
    // The file system does not support hard links.
    renameSync(made, file);
  }
}

/** Reads the key; null when the file does not exist. */
function keyIn(file: string): Buffer | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    throw unusable(file, cause);
  }
  const key = Buffer.from(text.trim(), "base64");
  if (key.length !== keyBytes) throw unusable(file, null);
  return key;
}

function isTaken(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "EEXIST";
}

function unusable(file: string, cause: unknown): LancelotError {
  return new LancelotError(
    "unavailable",
    `The placeholder key ${file} cannot be read or created, so nothing is sent to a model. Check the folder's permissions. You can delete a damaged file; Lancelot then creates a new one.`,
    { cause },
  );
}

/** Derives a key for one purpose. */
export function subkey(key: Buffer, purpose: string): Buffer {
  return createHmac("sha256", key).update(purpose).digest();
}

const sealedMark = "sealed:1:";

/** Encrypts a text with AES-256-GCM, so that a copy of the database alone does not reveal it. */
export function sealText(key: Buffer, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return sealedMark + Buffer.concat([nonce, cipher.getAuthTag(), data]).toString("base64");
}

/** Decrypts a sealed text; returns other texts unchanged, and null for one that was sealed with another key or modified. */
export function openText(key: () => Buffer, text: string): string | null {
  if (!text.startsWith(sealedMark)) return text;
  const bytes = Buffer.from(text.slice(sealedMark.length), "base64");
  try {
    const decipher = createDecipheriv("aes-256-gcm", key(), bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(12, 28));
    return decipher.update(bytes.subarray(28), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return null;
  }
}

/** True for a text that has the prefix of a sealed one. */
export function seemsSealed(text: string): boolean {
  return text.startsWith(sealedMark);
}
