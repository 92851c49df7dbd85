import { LancelotError } from "../../contract/errors.ts";

export type Setting = readonly [name: string, value: string];

/** A file that is always empty; git accepts the name on every system. */
export const nothing = process.platform === "win32" ? "NUL" : "/dev/null";

/** Overrides for settings that name a program or file, access the network or schedule work. */
export const fixedSettings: readonly Setting[] = [
  ["core.hooksPath", nothing],
  ["core.fsmonitor", "false"],
  ["core.pager", "cat"],
  ["core.editor", "true"],
  ["sequence.editor", "true"],
  ["core.sshCommand", "false"],
  ["core.gitProxy", "none"],
  ["core.askPass", ""],
  ["core.attributesFile", nothing],
  ["core.alternateRefsCommand", "true"],
  ["core.preferSymlinkRefs", "false"],
  ["core.protectNTFS", "true"],
  ["core.protectHFS", "true"],
  ["core.splitIndex", "false"],
  ["credential.helper", ""],
  ["diff.external", ""],
  // Read commands must not write the index.
  ["diff.autoRefreshIndex", "false"],
  ["diff.orderFile", nothing],
  ["diff.noprefix", "false"],
  ["diff.mnemonicPrefix", "false"],
  ["log.showSignature", "false"],
  ["log.mailmap", "false"],
  ["mailmap.file", nothing],
  ["commit.gpgSign", "false"],
  ["tag.gpgSign", "false"],
  ["push.gpgSign", "false"],
  ["gpg.program", "false"],
  ["gpg.ssh.defaultKeyCommand", "false"],
  ["interactive.diffFilter", "cat"],
  ["protocol.allow", "never"],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["push.recurseSubmodules", "no"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
];

/** Limit on settings that name programs; no regular repository has more. */
const maxSettings = 2_000;

/**
 * Overrides for settings whose name contains another name (a filter, a driver, a remote), as this repository defines them. A filter
 * without
 * a command compares and writes bytes unchanged.
 * @throws LancelotError `unavailable` when there are too many.
 */
export function namedSettings(names: Iterable<string>): Setting[] {
  const settings = [...new Set(names)].flatMap((name): Setting[] => {
    const rule = programs.find(([pattern]) => pattern.test(name));
    return rule === undefined ? [] : [[name, rule[1]]];
  });
  if (settings.length > maxSettings)
    throw new LancelotError(
      "unavailable",
      "This repository's settings name thousands of programs, so git was not run. Use the file tools.",
    );
  return settings;
}

const programs: readonly (readonly [RegExp, string])[] = [
  [/^filter\..+\.(?:clean|smudge|process)$/is, ""],
  [/^filter\..+\.required$/is, "false"],
  [/^diff\..+\.(?:command|textconv)$/is, ""],
  [/^merge\..+\.driver$/is, ""],
  [/^pager\..+$/is, "false"],
  [/^gpg\..+\.program$/is, "false"],
  [/^credential\..+\.helper$/is, ""],
  [/^submodule\..+\.update$/is, "none"],
  [/^remote\..+\.(?:uploadpack|receivepack)$/is, "false"],
  [/^trailer\..+\.(?:command|cmd)$/is, "true"],
  [/^tar\..+\.command$/is, "false"],
  [/^hook\..+\.command$/is, "true"],
  [/^hook\..+\.enabled$/is, "false"],
];

/** Values taken from the user's own settings (system and user scope, never a repository's). */
export interface OwnerSettings {
  readonly name: string | null;
  readonly email: string | null;
  /** True when the user or the repository wants signed commits. */
  readonly signs: boolean;
  /** Settings for line endings and ignored files. */
  readonly files: readonly Setting[];
  /** Credential helpers, certificates and proxy, for https only. */
  readonly https: readonly Setting[];
}

const fileSettings = new Set(["core.autocrlf", "core.eol", "core.excludesfile"]);
const httpsSettings =
  /^(?:credential\.(?:.+\.)?(?:helper|username|usehttppath)|http\.(?:proxy|sslcainfo|sslcapath|sslbackend|schannelusesslcainfo))$/is;

export interface ListedSetting {
  readonly scope: string;
  readonly name: string;
  readonly value: string;
}

/** Reads what `git config --list --show-scope -z` prints. */
export function parseSettings(text: string): ListedSetting[] {
  const parts = text.split("\0");
  const settings: ListedSetting[] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const entry = parts[index + 1] ?? "";
    const end = entry.indexOf("\n");
    // A name without a value means true.
    settings.push({
      scope: parts[index] ?? "",
      name: end < 0 ? entry : entry.slice(0, end),
      value: end < 0 ? "true" : entry.slice(end + 1),
    });
  }
  return settings;
}

/** Separates the user's settings from the repository's. Author name and address are only text, so the repository's values also count. */
export function ownerSettings(settings: readonly ListedSetting[]): OwnerSettings {
  const own = settings.filter(({ scope }) => scope === "system" || scope === "global");
  const last = (name: string) => settings.findLast((setting) => setting.name === name && setting.value.trim() !== "")?.value.trim() ?? null;
  const pick = (wanted: (name: string) => boolean) =>
    own.filter(({ name }) => wanted(name)).map(({ name, value }): Setting => [name, value]);
  return {
    name: last("user.name"),
    email: last("user.email"),
    signs: /^(?:true|yes|on|1)$/i.test(last("commit.gpgsign") ?? ""),
    files: pick((name) => fileSettings.has(name)),
    https: pick((name) => httpsSettings.test(name)),
  };
}
