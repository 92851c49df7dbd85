import { lookup } from "node:dns";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { LancelotError } from "../../contract/errors.ts";
import { checkedLookup, isLoopbackHost } from "../../security/security.ts";
import { stagingFolder, sweepStaging } from "./clone-staging.ts";
import { gitEnvironment, ownEnvironment } from "./git.ts";
import { gitError } from "./git-errors.ts";
import { runGitProcess } from "./git-process.ts";
import { isBelow, type Repository } from "./git-repository.ts";
import { fixedSettings, nothing, type OwnerSettings, type Setting } from "./git-settings.ts";

/** A repository to fetch from or push to. */
export interface Remote {
  /** The address passed to git. */
  readonly url: string;
  readonly protocol: "https" | "http" | "file";
  /** Without user name, password and trailing parts that could be secret; for people and receipts. */
  readonly shown: string;
}

/**
 * Parses an address. https may reach any host the gate allows, http only this machine; `file:` and plain paths name a folder.
 * @param folder base of relative paths
 * @throws LancelotError `unavailable` for ssh and other transports, which start programs of the user.
 */
export function remoteOf(address: string, folder: string): Remote {
  if (/^https?:\/\//i.test(address) && URL.canParse(address)) {
    const url = new URL(address);
    const protocol = url.protocol === "https:" ? "https" : "http";
    if (protocol === "http" && !isLoopbackHost(url.hostname))
      throw new LancelotError("denied", "Only https addresses are supported. Use the https address.");
    return { url: address, protocol, shown: `${url.protocol}//${url.host}${url.pathname}` };
  }
  if (/^file:\/\//i.test(address)) {
    try {
      return folderRemote(fileURLToPath(address), folder);
    } catch (cause) {
      throw new LancelotError("invalid_params", "This is no address of a folder on this machine. Use its path.", { cause });
    }
  }
  if (/^[a-z0-9+.-]+::|^[a-z][a-z0-9+.-]*:\/\//i.test(address) || /^[^/\\]{2,}:/.test(address) || address.startsWith("-")) {
    throw new LancelotError(
      "unavailable",
      "Only https addresses are supported, because ssh and other transports start programs. Ask the user to run this git command, or use the https address.",
    );
  }
  const path = /^(?:\/|[a-z]:[\\/])/i.test(address) ? address : join(folder, address);
  return folderRemote(path, folder);
}

function folderRemote(path: string, folder: string): Remote {
  return { url: path, protocol: "file", shown: isBelow(folder, path) ? relative(folder, path) || "." : path };
}

/** Overall limits of one transfer. */
export interface TransferLimits {
  /** In ms. */
  readonly timeoutMs: number;
  /** Maximum bytes below `folder`. */
  readonly grows?: { readonly folder: string; readonly maxBytes: number };
}

const maxOutput = 4 * 1024 * 1024;
const checkMs = 250;

/** Settings of the process that serves a local repository: it runs none of its hooks and starts nothing in the background. */
const servedWith =
  `git -c core.hooksPath=${nothing} -c core.fsmonitor=false -c core.alternateRefsCommand=true -c gc.auto=0 -c maintenance.auto=false ` +
  `-c receive.autogc=false -c receive.denyCurrentBranch=refuse -c gc.recentObjectsHook=true -c core.attributesFile=${nothing}`;
export const uploadPack = `--upload-pack=${servedWith} upload-pack`;
export const receivePack = `--receive-pack=${servedWith} receive-pack`;

/**
 * Runs a git command that communicates with another repository. No repository settings apply: it runs without a repository, or in a bare
 * one
 * created for it. On cancellation, timeout or excessive size, the whole process tree is killed.
 * @throws LancelotError `cancelled`, `too_large`, `unavailable`, `denied` (an internal address), `conflict` (a rejected push).
 */
export async function transfer(
  of: { readonly remote: Remote; readonly gitDir: string | null; readonly cwd: string; readonly owner: OwnerSettings },
  args: readonly string[],
  limits: TransferLimits,
  signal: AbortSignal,
): Promise<string> {
  const { remote, gitDir, cwd, owner } = of;
  const place: Record<string, string> = {
    GIT_ALLOW_PROTOCOL: remote.protocol,
    GIT_CEILING_DIRECTORIES: dirname(cwd),
    ...(gitDir === null ? {} : { GIT_DIR: gitDir }),
  };
  const web = remote.protocol === "file" ? [] : [...owner.https, ...(await webSettings(remote, owner))];
  const settings: Setting[] = [...fixedSettings.filter(([name]) => name !== "protocol.allow"), ...fsckSettings, ...web];
  const env = { ...gitEnvironment(place, settings), ...ownEnvironment(ownVariables) };
  return start(args, { cwd, env, limits, signal, remote });
}

/** Environment variables that the user's credential helpers and certificates need. */
const ownVariables = [
  "HOME",
  "USERPROFILE",
  "USER",
  "LOGNAME",
  "XDG_CONFIG_HOME",
  "XDG_RUNTIME_DIR",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "DBUS_SESSION_BUS_ADDRESS",
  "TMPDIR",
  "TEMP",
  "TMP",
];

/** Harmless mistakes of old git versions that the check of received objects accepts. */
export const acceptedMistakes: readonly string[] = [
  "badTimezone",
  "missingSpaceBeforeDate",
  "zeroPaddedFilemode",
  "missingEmail",
  "badEmail",
  "missingNameBeforeEmail",
];

/** Received objects are checked. */
const fsckSettings: readonly Setting[] = [
  ["transfer.fsckObjects", "true"],
  ...acceptedMistakes.map((id): Setting => [`fetch.fsck.${id}`, "ignore"]),
];

/** Restricts https to the address that was checked: no redirects and no prompts. */
async function webSettings({ url }: Remote, owner: OwnerSettings): Promise<Setting[]> {
  const { hostname, port, protocol } = new URL(url);
  const settings: Setting[] = [
    ["http.followRedirects", "false"],
    ["http.sslVerify", "true"],
    ["http.lowSpeedLimit", "1000"],
    ["http.lowSpeedTime", "30"],
    ["credential.interactive", "false"],
  ];
  // With a proxy configured, the proxy resolves names.
  if (owner.https.some(([name]) => name === "http.proxy")) return settings;
  const addresses = await publicAddresses(hostname);
  const number = port === "" ? (protocol === "https:" ? "443" : "80") : port;
  settings.push(["http.curloptResolve", `${hostname}:${number}:${addresses.join(",")}`]);
  return settings;
}

async function publicAddresses(hostname: string): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  checkedLookup(lookup)(hostname.replace(/^\[|\]$/g, ""), { all: true }, (error, found) => {
    if (error === null)
      resolve(typeof found === "string" ? [found] : found.map(({ address, family }) => (family === 6 ? `[${address}]` : address)));
    else if (error instanceof LancelotError) reject(error);
    else reject(new LancelotError("unavailable", `${hostname} was not found. Check the address and the connection.`, { cause: error }));
  });
  return promise;
}

async function start(
  args: readonly string[],
  of: { cwd: string; env: Record<string, string>; limits: TransferLimits; signal: AbortSignal; remote: Remote },
): Promise<string> {
  const { cwd, env, signal, limits, remote } = of;
  const { grows, timeoutMs } = limits;
  try {
    const { code, out, err } = await runGitProcess({
      ...{ args, cwd, env, signal },
      output: { maxBytes: maxOutput, message: "The remote repository sent more output than the limit." },
      time: {
        ms: timeoutMs,
        since: "start",
        message: `Git took longer than ${Math.round(timeoutMs / 60_000)} minutes and was stopped.`,
      },
      ...(grows === undefined ? {} : { watch: (stop) => watchSize(grows, stop) }),
    });
    if (code !== 0) throw transferError(`${err}\n${out}`, remote);
    return out;
  } catch (error) {
    throw error instanceof LancelotError ? error : gitError(error);
  }
}

function watchSize({ folder, maxBytes }: NonNullable<TransferLimits["grows"]>, stop: (error: LancelotError) => void): () => void {
  const timer = setInterval(() => {
    void sizeOf(folder).then((bytes) => {
      if (bytes > maxBytes) stop(tooLarge(maxBytes));
    });
  }, checkMs);
  return () => clearInterval(timer);
}

export function tooLarge(maxBytes: number): LancelotError {
  return new LancelotError(
    "too_large",
    `The repository has more than ${Math.round(maxBytes / 1024 / 1024)} MB, so it was removed. Use a depth of 1, or ask the user to clone it.`,
  );
}

/** Total size of a folder's files in bytes, without following links. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const stats = await stat(join(entry.parentPath, entry.name)).catch(() => null);
    bytes += stats?.size ?? 0;
  }
  return bytes;
}

/** Classifies the output of git and the remote; addresses with passwords are never repeated. */
function transferError(said: string, remote: Remote): LancelotError {
  const message = said.replaceAll(remote.url, remote.shown);
  const of = (code: LancelotError["code"], words: string) => new LancelotError(code, words, { cause: new Error(message.slice(0, 2000)) });
  if (/could not read Username|Authentication failed|terminal prompts disabled|returned error: 40[13]/i.test(message)) {
    return of(
      "unavailable",
      `${remote.shown} requires a sign-in, and git found no credentials in the user's settings (credential.helper). Ask the user to sign in with git once, or to run this command.`,
    );
  }
  if (/non-fast-forward|fetch first|stale info|\[rejected\]/i.test(message)) {
    return of(
      "conflict",
      "The remote branch has commits that this branch lacks, so the push was rejected. Ask the user to fetch and merge first.",
    );
  }
  if (/\[remote rejected\]/i.test(message)) {
    const why = /\[remote rejected\][^(\n]*\(([^)\n]+)\)/i.exec(message)?.[1] ?? "";
    return of("conflict", `The remote repository rejected the push${why === "" ? "" : `: ${why.slice(0, 200)}`}.`);
  }
  if (/redirect|returned error: 30\d/i.test(message))
    return of("unavailable", `${remote.shown} redirects to another address. Redirects are not followed; use the final address.`);
  if (/not found|does not exist|does not appear to be a git repository/i.test(message))
    return of("not_found", `There is no repository at ${remote.shown}, or it is not public.`);
  return gitError(new Error(message.replace(/^Cloning into .*$/m, "").trim()));
}

/** A temporary folder for one call, without a repository in or above it. Removes those of hosts that died. */
export async function inPrivateFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = stagingFolder(tmpdir());
  await sweepStaging(tmpdir());
  await mkdir(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * A bare repository without settings of its own that borrows the objects of another one to push from. The other repository's settings for
 * remotes, addresses, credentials and programs are never read.
 */
export async function borrowObjects(repository: Repository, folder: string, format: string): Promise<string> {
  const gitDir = join(folder, "repository.git");
  const objects = join(repository.commonDir, "objects");
  if (/["\n\\]/.test(objects))
    throw new LancelotError("unavailable", "The path of this repository contains characters that git does not accept here.");
  await mkdir(join(gitDir, "objects", "info"), { recursive: true });
  await mkdir(join(gitDir, "refs"), { recursive: true });
  await writeFile(join(gitDir, "HEAD"), "ref: refs/heads/none\n");
  await writeFile(join(gitDir, "objects", "info", "alternates"), `${objects}\n`);
  const extension = format === "sha1" ? "" : `[extensions]\n\tobjectFormat = ${format}\n`;
  await writeFile(join(gitDir, "config"), `[core]\n\trepositoryFormatVersion = ${format === "sha1" ? 0 : 1}\n\tbare = true\n${extension}`);
  const shallow = join(repository.commonDir, "shallow");
  if (existsSync(shallow)) await writeFile(join(gitDir, "shallow"), await readFile(shallow));
  return gitDir;
}
