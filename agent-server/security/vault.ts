import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { LancelotError } from "../contract/errors.ts";
import { withFileLock } from "./file-lock.ts";

const derive = promisify<string | Buffer, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);
/** For a passphrase, one derivation costs about 300 ms and 128 MB to slow down guessing; a random 256-bit key does not need that. */
const costs = { passphrase: { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 }, file: { N: 2 ** 10, r: 8, p: 1, maxmem: 2 ** 25 } };

const VaultFile = z.object({
  version: z.literal(1),
  key: z.enum(["passphrase", "file"]),
  salt: z.base64(),
  nonce: z.base64(),
  tag: z.base64(),
  data: z.base64(),
});
type VaultFile = z.infer<typeof VaultFile>;
const Content = z.record(z.string(), z.string());

const lockMessages = {
  busy: "Another window is changing the stored secrets. Try again.",
  failed: "The secret could not be stored. Check the permissions of Lancelot's data folder.",
};

/** Secrets of a headless host, in one encrypted file. */
export interface Vault {
  /** Reads all secrets; empty when there is no vault yet. */
  read(): Promise<Record<string, string>>;
  change(edit: (all: Record<string, string>) => Record<string, string>): Promise<void>;
}

/**
 * `vault.json` in `dataDir`, encrypted with AES-256-GCM and a key that scrypt derives from the passphrase. Without a passphrase, the key
 * is derived from `vault.key` next to it, readable by its owner only. That protects a copy of the vault alone and backups without the
 * key file, but not against someone who can read the whole data folder. A passphrase protects against that too.
 */
export function createVault(deps: { dataDir: string; passphrase: string | null }): Vault {
  const file = join(deps.dataDir, "vault.json");
  const keyFile = join(deps.dataDir, "vault.key");
  const lockFile = join(deps.dataDir, "vault.lock");
  const passphrase = deps.passphrase === null || deps.passphrase === "" ? null : deps.passphrase;
  /** The last decrypted file, cached because scrypt is slow by design. */
  let opened: { text: string; content: Record<string, string> } | null = null;

  const keyMaterial = async (make: boolean): Promise<string | Buffer> => {
    if (passphrase !== null) return passphrase;
    const existing = await readOrNull(keyFile);
    if (existing !== null) return Buffer.from(existing.trim(), "base64");
    if (!make)
      throw new LancelotError(
        "unavailable",
        "The key file vault.key is missing from Lancelot's data folder, so the stored secrets cannot be read. Restore it from a backup, or delete vault.json and enter the secrets again.",
      );
    const key = randomBytes(32);
    await writePrivately(keyFile, key.toString("base64"));
    return key;
  };

  const read = async (): Promise<Record<string, string>> => {
    const text = await readOrNull(file);
    if (text === null) return {};
    if (opened?.text === text) return opened.content;
    const content = await decrypt(text, passphrase, () => keyMaterial(false));
    opened = { text, content };
    return content;
  };

  const change: Vault["change"] = async (edit) => {
    await mkdir(deps.dataDir, { recursive: true, mode: 0o700 });
    // The lock prevents two hosts from overwriting each other's change.
    await withFileLock(lockFile, lockMessages, async () => {
      const content = edit(await read());
      const text = await encrypt(content, passphrase === null ? "file" : "passphrase", await keyMaterial(true));
      await writePrivately(file, text);
      opened = { text, content };
    });
  };

  return { read, change };
}

async function encrypt(content: Record<string, string>, key: VaultFile["key"], material: string | Buffer): Promise<string> {
  const salt = randomBytes(16);
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", await derive(material, salt, 32, costs[key]), nonce);
  const data = Buffer.concat([cipher.update(JSON.stringify(content), "utf8"), cipher.final()]);
  const vault: VaultFile = {
    version: 1,
    key,
    salt: salt.toString("base64"),
    nonce: nonce.toString("base64"),
    tag: cipher.getAuthTag().toString("base64"),
    data: data.toString("base64"),
  };
  return `${JSON.stringify(vault, null, 2)}\n`;
}

async function decrypt(text: string, passphrase: string | null, material: () => Promise<string | Buffer>): Promise<Record<string, string>> {
  const vault = parseVault(text);
  if (vault.key === "passphrase" && passphrase === null) {
    throw new LancelotError("unavailable", "The stored secrets are locked with a passphrase. Set LANCELOT_VAULT_PASSPHRASE and restart.");
  }
  if (vault.key === "file" && passphrase !== null) {
    throw new LancelotError(
      "unavailable",
      "The stored secrets are locked with the key file, not with a passphrase. Unset LANCELOT_VAULT_PASSPHRASE, or delete vault.json and enter the secrets again.",
    );
  }
  const key = await derive(await material(), Buffer.from(vault.salt, "base64"), 32, costs[vault.key]);
  try {
    const tag = Buffer.from(vault.tag, "base64");
    const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(vault.nonce, "base64"), { authTagLength: 16 }).setAuthTag(tag);
    const plain = Buffer.concat([decipher.update(Buffer.from(vault.data, "base64")), decipher.final()]);
    return Content.parse(JSON.parse(plain.toString("utf8")));
  } catch (error) {
    const reason = passphrase === null ? "vault.key does not match" : "LANCELOT_VAULT_PASSPHRASE is wrong";
    throw new LancelotError("unavailable", `The stored secrets cannot be decrypted: ${reason}, or vault.json was modified.`, {
      cause: error,
    });
  }
}

function parseVault(text: string): VaultFile {
  try {
    return VaultFile.parse(JSON.parse(text));
  } catch (error) {
    throw new LancelotError(
      "unavailable",
      "The file vault.json in Lancelot's data folder is damaged. Restore a backup, or delete it and enter the secrets again.",
      {
        cause: error,
      },
    );
  }
}

async function readOrNull(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new LancelotError("unavailable", "The stored secrets cannot be read. Check the permissions of Lancelot's data folder.", {
      cause: error,
    });
  }
}

/** Replaces the file atomically by a rename, so that a crash leaves the old or the new version; readable by its owner only. */
async function writePrivately(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // The umask may have restricted the mode given above.
    await chmod(temporary, 0o600);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new LancelotError(
      "unavailable",
      "The secret could not be stored. Check the free space and the permissions of Lancelot's data folder.",
      { cause: error },
    );
  }
}
