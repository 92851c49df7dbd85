import { join } from "node:path";
import { isMap, parseDocument, type Document } from "yaml";
import { LancelotError } from "../contract/errors.ts";
import { fileStamp, readUserFile, writeUserFile } from "../storage/storage.ts";
import { type FlagName, isFlagName } from "./table.ts";

/** The owner's `config/flags.yaml`: `flags: { SOUL: false }`. Writing keeps comments and other entries. */
export interface FlagsFile {
  /** The flags in the file; the last valid ones while the file is invalid. */
  read(): ReadonlyMap<FlagName, boolean>;
  /** True when the file changed since the last `read`. */
  changed(): boolean;
  /** @throws LancelotError `conflict` when the file is invalid, `unavailable` when it cannot be written. */
  write(name: FlagName, enabled: boolean): void;
}

const fileName = "config/flags.yaml";
const heading =
  " Lancelot's feature flags. You can edit this file; changes apply within a second. FEATURE_<NAME> in the environment takes precedence.";

export function createFlagsFile(dataDir: string, log: (message: string, error?: unknown) => void): FlagsFile {
  const path = join(dataDir, "config", "flags.yaml");
  let known: ReadonlyMap<FlagName, boolean> = new Map();
  let seen = "";

  const load = (): Document => {
    const document = parseDocument(readUserFile(path, fileName) ?? "");
    const [error] = document.errors;
    if (error !== undefined) throw error;
    if (document.contents !== null && !isMap(document.contents)) throw new Error("The file is not a YAML mapping.");
    return document;
  };

  return {
    read() {
      try {
        seen = fileStamp(path);
        const found = new Map<FlagName, boolean>();
        const { flags } = (load().toJS() ?? {}) as { flags?: unknown };
        for (const [name, value] of Object.entries(typeof flags === "object" && flags !== null ? flags : {})) {
          const known = name.toUpperCase().replace(/^FEATURE_/, "");
          if (isFlagName(known) && typeof value === "boolean") found.set(known, value);
          else log(`config/flags.yaml: ignored ${name}, because it is not a flag or its value is not true or false`);
        }
        known = found;
      } catch (error) {
        log("config/flags.yaml is invalid; the flags keep their values", error);
      }
      return known;
    },

    changed: () => fileStamp(path) !== seen,

    write(name, enabled) {
      let document: Document;
      try {
        document = load();
      } catch (error) {
        if (error instanceof LancelotError) throw error;
        throw new LancelotError(
          "conflict",
          "config/flags.yaml in Lancelot's data folder is not valid. Correct or delete it, then try again.",
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
      writeUserFile(path, fileName, document.toString());
    },
  };
}
