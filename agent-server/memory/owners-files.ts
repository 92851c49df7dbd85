import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Redactor } from "../security/security.ts";

/** A file of the owner's in the data folder, redacted. */
export interface OwnersFile {
  readonly name: string;
  readonly text: string;
}

/** Bytes of one file, at most. */
const maxBytes = 8_192;

/** `USER.md` and `RULES.md` as they are now, those that are there; each is read again when it is another one. */
export function createOwnersFiles({ dataDir, redactor }: { dataDir: string; redactor: Redactor }): () => OwnersFile[] {
  const known = new Map<string, { stamp: string; text: string }>();

  const read = (name: string): string => {
    let file: number;
    try {
      file = openSync(join(dataDir, name), "r");
    } catch {
      known.delete(name);
      return "";
    }
    try {
      const { mtimeMs, size, ino } = fstatSync(file);
      const stamp = `${String(mtimeMs)}:${String(size)}:${String(ino)}`;
      const before = known.get(name);
      if (before?.stamp === stamp) return before.text;
      const buffer = Buffer.alloc(Math.min(size, maxBytes));
      const bytes = buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
      // A character that the bound splits is no character.
      const whole = new TextDecoder().decode(bytes, { stream: size > maxBytes });
      const text = bytes.includes(0) ? "" : redactor.text(whole).text.trim();
      known.set(name, { stamp, text });
      return text;
    } catch {
      // A folder of that name, or a disk that cannot be read: as if there were none.
      return "";
    } finally {
      closeSync(file);
    }
  };

  return () =>
    ["USER.md", "RULES.md"].flatMap((name) => {
      const text = read(name);
      return text === "" ? [] : [{ name, text }];
    });
}
