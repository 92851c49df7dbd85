import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Redactor } from "../security/security.ts";

/** A redacted owner profile file of the data folder. */
export interface OwnerProfileFile {
  readonly name: string;
  readonly text: string;
}

/** Maximum bytes of one file. */
const maxBytes = 8_192;

/** The current `USER.md` and `RULES.md`. A file is read again only after it changed. */
export function createOwnerProfileFiles({ dataDir, redactor }: { dataDir: string; redactor: Redactor }): () => OwnerProfileFile[] {
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
      // A multi-byte character that the limit cuts is dropped.
      const whole = new TextDecoder().decode(bytes, { stream: size > maxBytes });
      const text = bytes.includes(0) ? "" : redactor.text(whole).text.trim();
      known.set(name, { stamp, text });
      return text;
    } catch {
      // A folder of that name or an unreadable disk counts as no file.
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
