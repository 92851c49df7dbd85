import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isMap, parseDocument, type Document } from "yaml";
import { LancelotError } from "../contract/errors.ts";
import { type FlagName, isFlagName } from "./table.ts";

/** The owner's `config/flags.yaml`: `flags: { SOUL: false }`. Comments and what else stands in it are kept. */
export interface OwnersFlags {
  /** What the file says; as it was last understood while it cannot be. */
  read(): ReadonlyMap<FlagName, boolean>;
  /** True when the file is another one than `read` saw. */
  changed(): boolean;
  /** @throws LancelotError `conflict` when the file cannot be understood, `unavailable` when it cannot be written. */
  write(name: FlagName, enabled: boolean): void;
}

const heading =
  " Lancelot's flags. Yours to edit: flags.reload, or a second's patience, and it counts. FEATURE_<NAME> in the environment goes before it.";

export function createOwnersFlags(dataDir: string, log: (message: string, error?: unknown) => void): OwnersFlags {
  const path = join(dataDir, "config", "flags.yaml");
  let known: ReadonlyMap<FlagName, boolean> = new Map();
  let seen = "";

  const stamp = (): string => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? "none" : `${stats.mtimeMs}:${stats.size}:${stats.ino}`;
  };
  const load = (): Document => {
    const text = stamp() === "none" ? "" : readFileSync(path, "utf8");
    const document = parseDocument(text);
    const [error] = document.errors;
    if (error !== undefined) throw error;
    if (document.contents !== null && !isMap(document.contents)) throw new Error("It is not a list of names and values.");
    return document;
  };

  return {
    read() {
      try {
        seen = stamp();
        const found = new Map<FlagName, boolean>();
        const { flags } = (load().toJS() ?? {}) as { flags?: unknown };
        for (const [name, value] of Object.entries(typeof flags === "object" && flags !== null ? flags : {})) {
          const known = name.toUpperCase().replace(/^FEATURE_/, "");
          if (isFlagName(known) && typeof value === "boolean") found.set(known, value);
          else log(`config/flags.yaml: ${name} is no flag, or its value is not true or false; it has no effect`);
        }
        known = found;
      } catch (error) {
        log("config/flags.yaml cannot be understood; the flags stay as they were", error);
      }
      return known;
    },

    changed() {
      try {
        return stamp() !== seen;
      } catch {
        return false;
      }
    },

    write(name, enabled) {
      let document: Document;
      try {
        document = load();
      } catch (error) {
        throw new LancelotError(
          "conflict",
          "config/flags.yaml in Lancelot's data folder cannot be understood. Mend it, or delete it, and try again.",
          {
            cause: error,
          },
        );
      }
      if (document.contents === null) {
        document.contents = document.createNode({ version: "1.0", flags: {} });
        document.commentBefore = heading;
      }
      if (!isMap(document.get("flags"))) document.set("flags", document.createNode({}));
      document.setIn(["flags", name], enabled);
      const temporary = `${path}.${randomUUID()}.tmp`;
      try {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        writeFileSync(temporary, document.toString(), { mode: 0o600, flag: "wx" });
        renameSync(temporary, path);
      } catch (error) {
        rmSync(temporary, { force: true });
        throw new LancelotError("unavailable", "The flag could not be stored. Check the permissions of Lancelot's data folder.", {
          cause: error,
        });
      }
    },
  };
}
