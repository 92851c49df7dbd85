import { join } from "node:path";
import { isMap, parseDocument, type Document } from "yaml";
import { LancelotError } from "../contract/errors.ts";
import { createOwnerFile, isRecord, type OwnerFile, OwnerFileFault, parseOwnerYaml } from "../owner-file.ts";
import { readUserFile, writeUserFile } from "../storage/storage.ts";
import { type FlagName, isFlagName } from "./table.ts";

/** The owner's `config/flags.yaml`: `flags: { SOUL: false }`. Writing keeps comments and other entries. */
export interface FlagsFile {
  /** The flags in the file; those of its last valid version while it is invalid. */
  read(): ReadonlyMap<FlagName, boolean>;
  /** Names an invalid file, or entries without effect, with the line; null when there are none. */
  problem(): string | null;
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
  const file = createOwnerFile({ dataDir, name: "flags.yaml", parse: parseFlags });
  let logged: string | null = null;

  const load = (): Document => {
    const document = parseDocument(readUserFile(path, fileName) ?? "");
    const [error] = document.errors;
    if (error !== undefined) throw error;
    if (document.contents !== null && !isMap(document.contents)) throw new Error("The file is not a YAML mapping.");
    return document;
  };

  return {
    read() {
      const { value } = file.read();
      const problem = problemOf(file);
      if (problem !== null && problem !== logged) log(problem);
      logged = problem;
      return value?.flags ?? new Map();
    },

    problem: () => problemOf(file),

    changed: () => file.changed(),

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

interface ParsedFlags {
  readonly flags: ReadonlyMap<FlagName, boolean>;
  /** Entries that are not flags. They have no effect, so they do not invalidate the file: a flag may have been retired. */
  readonly unknown: string | null;
}

function problemOf(file: OwnerFile<ParsedFlags>): string | null {
  const { value, problem } = file.read();
  return problem === null ? (value?.unknown ?? null) : `${problem} The flags keep their last valid values until you correct it.`;
}

/** @throws OwnerFileFault */
function parseFlags(text: string): ParsedFlags {
  const { value, lineOf } = parseOwnerYaml(text);
  const { flags: entries = {} } = value;
  if (!isRecord(entries)) throw new OwnerFileFault(lineOf(["flags"]), "flags must be names with true or false");
  const flags = new Map<FlagName, boolean>();
  const unknown: string[] = Object.keys(value)
    .filter((key) => key !== "flags" && key !== "version")
    .map((key) => `line ${lineOf([key])}: ${key}`);
  for (const [name, enabled] of Object.entries(entries)) {
    const known = name.toUpperCase().replace(/^FEATURE_/, "");
    // `SOUL:` without a value is unset, as an empty variable of the environment is.
    if (enabled === null) continue;
    if (!isFlagName(known)) unknown.push(`line ${lineOf(["flags", name])}: ${name}`);
    else if (typeof enabled === "boolean") flags.set(known, enabled);
    else throw new OwnerFileFault(lineOf(["flags", name]), `${name} must be true or false`);
  }
  return {
    flags,
    unknown: unknown.length === 0 ? null : `${fileName} has entries that are not flags and have no effect: ${unknown.join(", ")}.`,
  };
}
