import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";

const keyBytes = 32;

/**
 * The data folder's key of placeholders: random, made on first use, readable by its owner only. It is in no database, prompt or
 * log, so that nobody who sees a placeholder can find its value by trying values.
 * @throws LancelotError `unavailable` when it can be neither read nor made.
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

/** Of two windows that make it at once, one is first; both then read the same. */
function place(made: string, file: string): void {
  try {
    linkSync(made, file);
  } catch (cause) {
    if (isTaken(cause)) throw cause;
    // Disks that know no hard links.
    renameSync(made, file);
  }
}

/** Null when there is no such file. */
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
    `The key of placeholders, ${file}, cannot be read or made, so nothing is sent to a model. Check the folder's permissions; a broken file may be deleted, a new one is made.`,
    { cause },
  );
}

/** A key for one purpose. */
export function subkey(key: Buffer, purpose: string): Buffer {
  return createHmac("sha256", key).update(purpose).digest();
}

const sealedMark = "sealed:1:";

/** A text that a copy of the database alone does not show: AES-256-GCM. */
export function sealText(key: Buffer, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const data = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return sealedMark + Buffer.concat([nonce, cipher.getAuthTag(), data]).toString("base64");
}

/** The text as it was, sealed or not; null for one that was sealed with another key, or altered. */
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

/** True for a text that would be taken for a sealed one. */
export function seemsSealed(text: string): boolean {
  return text.startsWith(sealedMark);
}
