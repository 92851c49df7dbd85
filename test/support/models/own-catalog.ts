import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as yaml from "yaml";
import { localDataDir, tinyModel } from "./local-models.ts";

/** Name of the tiny model where a catalog offers it. */
export const offeredFile = "tiny.gguf";

/**
 * Makes a data folder whose catalog offers the tiny model under `url`, with its real checksum, and whose runtime is the cached one.
 * @param here the model is there already
 */
export function makeDataDir(
  dataDir: string,
  options: { url?: string; here?: boolean; runtime?: boolean; context?: number } = {},
): { model: string; bytes: Buffer } {
  const context = options.context ?? 2_048;
  const bytes = readFileSync(tinyModel(context));
  const about = {
    name: "Tiny",
    license: "MIT",
    note: "says nothing",
    context,
    small: true,
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  };
  const hub = {
    ...about,
    id: "tiny",
    file: offeredFile,
    url: options.url ?? "http://127.0.0.1:9/tiny.gguf",
    needs: { ram_bytes: 0, gpu: false },
  };
  const part = { package: "none", version: "0.0.0", member: "package/model.part", bytes: 1, integrity: "sha512-none" };
  const npm = { ...about, id: "none", name: "None", file: "none.gguf", parts: [part] };
  mkdirSync(join(dataDir, "config"), { recursive: true });
  mkdirSync(join(dataDir, "models"), { recursive: true });
  writeFileSync(join(dataDir, "config/local-models.yaml"), yaml.stringify({ version: "1.0", hub: [hub], npm }));
  if (options.runtime !== false) symlinkSync(join(localDataDir, "runtime"), join(dataDir, "runtime"));
  const model = join(dataDir, "models", offeredFile);
  if (options.here === true) writeFileSync(model, bytes);
  return { model, bytes };
}
