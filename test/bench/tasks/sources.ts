// The files of published packages: fetched once with the ordinary clients, checked against their hashes, kept in .cache/.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "../../support/setup/project.mjs";
import type { Source } from "./types.ts";

const run = promisify(execFile);
const cache = join(root, ".cache/bench-tasks");

/**
 * The folder with a package's files, which nobody may change.
 * @throws Error when it cannot be fetched, or when its hash is another one.
 */
export async function sourceFolder(source: Source): Promise<string> {
  const installed = await installedFolder(source);
  if (installed !== null) return installed;
  const digest =
    source.registry === "npm" ? Buffer.from(source.integrity.slice("sha512-".length), "base64").toString("hex") : source.sha256;
  const folder = join(cache, `${source.name.replaceAll("/", "-")}-${source.version}-${digest.slice(0, 16)}`);
  if (await exists(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "fetch-"));
  try {
    await (source.registry === "npm" ? fetchNpm(source, work) : fetchDebian(source, work));
    const files = source.registry === "npm" ? join(work, "package") : join(work, "files", source.folder);
    await rename(files, folder).catch(async (error: unknown) => {
      // Another run was faster.
      if (!(await exists(folder))) throw error;
    });
    return folder;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The installed package where it has this very version; what else npm put there stays out. */
async function installedFolder(source: Source): Promise<string | null> {
  if (source.registry !== "npm" || source.isInstalled !== true) return null;
  const folder = join(root, "node_modules", source.name);
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "{}");
  return (JSON.parse(text) as { version?: string }).version === source.version ? folder : null;
}

async function fetchNpm({ name, version, integrity }: Extract<Source, { registry: "npm" }>, work: string): Promise<void> {
  const { stdout } = await run("npm", ["pack", `${name}@${version}`, "--silent", "--ignore-scripts"], { cwd: work, timeout: 120_000 });
  const file = join(work, stdout.trim().split("\n").at(-1) ?? "");
  const seen = `sha512-${createHash("sha512")
    .update(await readFile(file))
    .digest("base64")}`;
  if (seen !== integrity) throw new Error(`${name}@${version} has the integrity ${seen}, not ${integrity}.`);
  await run("tar", ["-xzf", file, "-C", work]);
}

async function fetchDebian({ name, version, sha256 }: Extract<Source, { registry: "debian" }>, work: string): Promise<void> {
  await run("apt-get", ["download", `${name}=${version}`], { cwd: work, timeout: 120_000 });
  const file = (await readdir(work)).find((entry) => entry.endsWith(".deb"));
  if (file === undefined) throw new Error(`apt-get downloaded nothing for ${name}=${version}.`);
  const seen = createHash("sha256")
    .update(await readFile(join(work, file)))
    .digest("hex");
  if (seen !== sha256) throw new Error(`${name} ${version} has the sha256 ${seen}, not ${sha256}.`);
  await run("dpkg-deb", ["-x", join(work, file), join(work, "files")]);
}

/** Copies a package's files: all, or those that `keep` names. Packages inside the package stay out. */
export async function copySource(source: Source, keep: readonly string[] | undefined, to: string): Promise<void> {
  const from = await sourceFolder(source);
  for (const path of keep ?? (await readdir(from))) {
    if (path === "node_modules") continue;
    await mkdir(dirname(join(to, path)), { recursive: true });
    await cp(join(from, path), join(to, path), { recursive: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
