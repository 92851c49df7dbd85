import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Catalog, HubModel, NpmModel } from "./catalog.ts";
import type { Verifier } from "./verify.ts";

/** A model file on this disk. */
export interface Candidate {
  id: string | null;
  path: string;
  name: string;
  license: string;
  note?: string;
  bytes: number;
  source: "hub" | "npm" | "owner";
  /** Tokens. */
  context: number;
  small: boolean;
  /** Null for the user's own file, whose checksum nobody knows. */
  sha256: string | null;
  /** Estimated memory it uses (bytes). */
  memoryBytes: number;
}

/** A user's model below this size counts as small (bytes). */
const smallFile = 2_000_000_000;

/** The best complete model of the catalog on this disk: the offered one, otherwise the largest of the hub, otherwise npm's. */
export function present(catalog: Catalog, offered: HubModel, folder: string, verifier: Verifier): Candidate | undefined {
  const isHere = (model: HubModel | NpmModel) =>
    sizeOf(join(folder, model.file)) === model.bytes && verifier.verdict(join(folder, model.file)) !== "wrong";
  const hub = [offered, ...catalog.hub.toReversed()].find(isHere);
  const model = hub ?? (isHere(catalog.npm) ? catalog.npm : undefined);
  if (model === undefined) return undefined;
  const { id, name, license, note, bytes, context, small, sha256 } = model;
  const memoryBytes = hub === undefined ? bytes + 200_000_000 : hub.needs.free_bytes;
  const source = hub === undefined ? "npm" : "hub";
  return { id, path: join(folder, model.file), name, license, note, bytes, context, small, sha256, memoryBytes, source };
}

/** A file that differs from its catalog entry: truncated or damaged. */
export function damaged(catalog: Catalog, folder: string, verifier: Verifier): string | undefined {
  const found = [...catalog.hub, catalog.npm].find(({ file, bytes }) => {
    const size = sizeOf(join(folder, file));
    return size !== undefined && (size !== bytes || verifier.verdict(join(folder, file)) === "wrong");
  });
  return found?.file;
}

export function ownFile(path: string): Candidate | undefined {
  const bytes = sizeOf(path);
  if (bytes === undefined) return undefined;
  const name = basename(path).replace(/\.gguf$/i, "");
  return {
    id: null,
    path,
    name,
    license: "unknown (your own file)",
    bytes,
    source: "owner",
    context: 8_192,
    small: bytes < smallFile,
    sha256: null,
    memoryBytes: bytes + 500_000_000,
  };
}

/** Why a user's file cannot be a model; null when it may be one. */
export function ownFileProblem(path: string): string | null {
  const file = basename(path);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return `The local model file ${file} was not found.`;
  if (!found.isFile()) return `${file} is not a file.`;
  try {
    accessSync(path, constants.R_OK);
    const magic = Buffer.alloc(4);
    const handle = openSync(path, "r");
    try {
      readSync(handle, magic, 0, 4, 0);
    } finally {
      closeSync(handle);
    }
    return magic.toString("latin1") === "GGUF" ? null : `${file} is not a GGUF file.`;
  } catch {
    return `The local model file ${file} cannot be read.`;
  }
}

/** Files of unfinished downloads in the models folder. */
export function unfinished(catalog: Catalog, folder: string): string[] {
  const hub = catalog.hub.flatMap(({ file }) => [`${file}.part`, `${file}.part.json`]);
  const { file, parts } = catalog.npm;
  const npm = parts.flatMap((_, index) => ["", ".part", ".part.json"].map((end) => `${file}.${index + 1}.tgz${end}`));
  return [...hub, ...npm, `${file}.joining`].filter((name) => existsSync(join(folder, name)));
}

export function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
