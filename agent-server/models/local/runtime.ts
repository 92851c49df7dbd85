import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { type DownloadOptions, download } from "./download.ts";
import { tarballUrl } from "./registry.ts";

const Package = z.strictObject({
  /** Where it goes, as npm would put it. */
  path: z.string().regex(/^(node_modules\/(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*)(\/node_modules\/(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*)*$/i),
  name: z.string(),
  version: z.string(),
  integrity: z.string().startsWith("sha512-"),
  /** Size of the tarball. */
  bytes: z.int().positive(),
  /** `process.platform`-`process.arch` of a build; absent where it is needed everywhere. */
  platform: z.string().optional(),
});
type Package = z.infer<typeof Package>;

const Manifest = z.strictObject({
  name: z.string(),
  version: z.string(),
  /** Files of the package `name` that are not unpacked. */
  skip: z.array(z.string()),
  packages: z.array(Package),
});

/** The engine of the local model, kept out of the extension for its size and installed on first use. */
export interface Runtime {
  /** Bytes to fetch. */
  bytes: number;
  installed(): boolean;
  /** URL of the module to import. */
  entry: string;
  install(registry: string, options: DownloadOptions): Promise<void>;
}

/**
 * The runtime that `local-runtime.json` pins, for one platform, under `<dataDir>/runtime/`.
 * @throws LancelotError `unavailable` on a platform it has no build for.
 */
export function createRuntime(configDir: string, dataDir: string, platform = `${process.platform}-${process.arch}`): Runtime {
  const manifest = Manifest.parse(JSON.parse(readFileSync(join(configDir, "local-runtime.json"), "utf8")));
  const packages = manifest.packages.filter((entry) => entry.platform === undefined || entry.platform === platform);
  const folder = join(dataDir, "runtime", `${manifest.name}-${manifest.version}`);
  const staging = `${folder}.part`;
  const supported = packages.some((entry) => entry.platform !== undefined);

  async function installOne(entry: Package, registry: string, options: DownloadOptions) {
    const key = entry.path.replaceAll("/", "+");
    const unpacked = join(staging, "unpacked", key);
    if (existsSync(unpacked)) return;
    const tarball = join(staging, "tarballs", `${key}.tgz`);
    if (!existsSync(tarball)) {
      const checksum = { algorithm: "sha512", encoding: "base64", value: entry.integrity.slice("sha512-".length) } as const;
      await download({ url: tarballUrl(registry, entry.name, entry.version), bytes: entry.bytes, checksum }, tarball, options);
    }
    const target = join(staging, "content", entry.path);
    await mkdir(target, { recursive: true });
    const skip = entry.name === manifest.name ? manifest.skip : [];
    await unpack(tarball, target, skip);
    await writeFile(unpacked, "");
    await rm(tarball);
  }

  return {
    bytes: packages.reduce((sum, entry) => sum + entry.bytes, 0),
    entry: join(folder, "node_modules", manifest.name, "dist", "index.js"),
    installed: () => existsSync(folder),
    async install(registry, options) {
      if (!supported) {
        throw new LancelotError(
          "unavailable",
          `The embedded model has no build for this machine (${platform}). Use a model server such as Ollama, or a provider with a key.`,
        );
      }
      if (existsSync(folder)) return;
      await mkdir(join(staging, "unpacked"), { recursive: true });
      const here = new Map<Package, number>();
      const waiting = [...packages];
      // A package that fails ends the others too: they share one signal.
      const failed = new AbortController();
      const signal = AbortSignal.any([options.signal, failed.signal]);
      const worker = async () => {
        for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
          const current = entry;
          const report = (bytes: number) => {
            here.set(current, bytes);
            options.onProgress([...here.values()].reduce((sum, value) => sum + value, 0));
          };
          try {
            await installOne(current, registry, { ...options, signal, onProgress: report });
          } catch (error) {
            failed.abort();
            throw error;
          }
          report(current.bytes);
        }
      };
      const results = await Promise.allSettled(Array.from({ length: 6 }, worker));
      const errors = results.flatMap((result) => (result.status === "rejected" ? [z.instanceof(Error).parse(result.reason)] : []));
      const first = errors.find((error) => !(error instanceof LancelotError && error.code === "cancelled")) ?? errors[0];
      if (first !== undefined) throw first;
      await rename(join(staging, "content"), folder);
      await rm(staging, { recursive: true, force: true });
    },
  };
}

/** Unpacks an npm tarball: files and folders only, nothing outside the target (tar refuses `..` and absolute paths by itself). */
async function unpack(tarball: string, target: string, skip: string[]): Promise<void> {
  const tar = await import("tar");
  await tar.x({
    file: tarball,
    cwd: target,
    strip: 1,
    strict: true,
    preserveOwner: false,
    filter: (path, entry) => {
      if ("type" in entry && !["File", "OldFile", "ContiguousFile", "Directory"].includes(entry.type)) return false;
      return !skip.includes(path.slice(path.indexOf("/") + 1));
    },
  });
}
