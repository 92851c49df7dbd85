import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { type DownloadOptions, download } from "./download.ts";
import { tarballUrl } from "./npm-registry.ts";

const Package = z.strictObject({
  /** Its folder, as npm would install it. */
  path: z.string().regex(/^(node_modules\/(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*)(\/node_modules\/(@[a-z0-9-]+\/)?[a-z0-9][a-z0-9._-]*)*$/i),
  name: z.string(),
  version: z.string(),
  integrity: z.string().startsWith("sha512-"),
  /** Size of the tarball. */
  bytes: z.int().positive(),
  /** `process.platform`-`process.arch` of a build; absent for all platforms. */
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

/** The engine of the local model. It is large, so it is installed on first use instead of with the extension. */
export interface Runtime {
  /** Download size (bytes). */
  bytes: number;
  installed(): boolean;
  /** Checks that every installed file exists with its size. @throws LancelotError `unavailable`; it counts as not installed afterward */
  check(): void;
  /** Bytes of an unfinished install. */
  partial(): number;
  /** URL of the module to import. */
  entry: string;
  /** `renew`: even when it is installed. */
  install(registry: string, options: DownloadOptions, renew?: boolean): Promise<void>;
}

/** Files of the runtime with their sizes, written after a complete install. */
const Listing = z.record(z.string(), z.int());
const listingName = "files.json";

/**
 * The runtime that `local-runtime.json` pins, for one platform, under `<dataDir>/runtime/`.
 * @throws LancelotError `unavailable` on a platform it has no build for.
 */
export function createRuntime(configDir: string, dataDir: string, platform = `${process.platform}-${process.arch}`): Runtime {
  const manifest = Manifest.parse(JSON.parse(readFileSync(join(configDir, "local-runtime.json"), "utf8")));
  const packages = manifest.packages.filter((entry) => entry.platform === undefined || entry.platform === platform);
  const folder = join(dataDir, "runtime", `${manifest.name}-${manifest.version}`);
  const staging = `${folder}.part`;
  const entryFile = join(folder, "node_modules", manifest.name, "dist", "index.js");
  let isBroken = false;
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
    entry: entryFile,
    installed: () => !isBroken && existsSync(entryFile),
    check() {
      const listing = readListing(join(folder, listingName));
      const broken = Object.entries(listing).find(([path, size]) => sizeOf(join(folder, path)) !== size);
      if (broken === undefined && existsSync(entryFile)) return;
      isBroken = true;
      const next = "Download it again.";
      throw new LancelotError("unavailable", `The runtime of the local model is damaged. ${next}`, { data: { next }, cause: broken?.[0] });
    },
    partial() {
      if (!existsSync(staging)) return 0;
      return packages.reduce((sum, entry) => {
        const key = entry.path.replaceAll("/", "+");
        if (existsSync(join(staging, "unpacked", key))) return sum + entry.bytes;
        const tarball = join(staging, "tarballs", `${key}.tgz`);
        return sum + (sizeOf(tarball) ?? sizeOf(`${tarball}.part`) ?? 0);
      }, 0);
    },
    async install(registry, options, renew = false) {
      if (!supported) {
        throw new LancelotError(
          "unavailable",
          `The embedded model has no build for this machine (${platform}). Use a model server such as Ollama, or a provider with a key.`,
        );
      }
      if (!isBroken && existsSync(entryFile) && !renew) return;
      await mkdir(join(staging, "unpacked"), { recursive: true });
      const here = new Map<Package, number>();
      const waiting = [...packages];
      // A package that fails stops the others: they share one signal.
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
      const content = join(staging, "content");
      await writeFile(join(content, listingName), JSON.stringify(listFiles(content)));
      const aside = `${folder}.${randomUUID()}.old`;
      if (existsSync(folder)) await rename(folder, aside);
      await rename(content, folder);
      isBroken = false;
      await rm(staging, { recursive: true, force: true });
      await rm(aside, { recursive: true, force: true });
    },
  };
}

/** Unpacks an npm tarball: files and folders only, within the target (tar rejects `..` and absolute paths itself). */
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

function listFiles(folder: string): z.infer<typeof Listing> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(folder, path), statSync(path).size];
    }),
  );
}

/** Empty for an install of an earlier version. */
function readListing(path: string): z.infer<typeof Listing> {
  try {
    return Listing.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return {};
  }
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
