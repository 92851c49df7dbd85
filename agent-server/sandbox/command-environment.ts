import { delimiter } from "node:path";

/** Copied from the user's environment unchanged: language and time zone, nothing that could be a credential. */
const plain = ["LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "TZ"];
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Windows programs do not start without these variables. */
const windows = ["SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "windir", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"];

/**
 * Builds the environment of a command from nothing: allowlisted variables of the user, and settings that disable prompts and pagers.
 * @param given the user's environment @param own variables set by the sandbox (home, temporary folder)
 */
export function commandEnvironment(given: NodeJS.ProcessEnv, own: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of process.platform === "win32" ? [...plain, ...windows] : plain) {
    const value = given[name];
    if (value !== undefined && !value.includes("\0")) environment[name] = value;
  }
  return {
    ...environment,
    PATH: pathOf(given),
    TERM: "xterm-256color",
    // Nobody can answer a prompt.
    GIT_TERMINAL_PROMPT: "0",
    GIT_PAGER: "cat",
    PAGER: "cat",
    DEBIAN_FRONTEND: "noninteractive",
    ...own,
  };
}

/** Folders to search for programs: only absolute ones, so that a file in the working folder cannot pose as a program. */
export function pathOf(given: NodeJS.ProcessEnv): string {
  const folders = (given["PATH"] ?? "").split(delimiter).filter((folder) => /^(?:\/|[a-z]:[\\/])/i.test(folder));
  return folders.length > 0 ? [...new Set(folders)].join(delimiter) : systemPath;
}

/** Proxy variables, in both cases, because programs disagree on which they read. */
export function proxyEnvironment(url: string): Record<string, string> {
  return Object.fromEntries(
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
      .map((name) => [name, url] as const)
      .concat([
        ["NO_PROXY", "localhost,127.0.0.1,::1"],
        ["no_proxy", "localhost,127.0.0.1,::1"],
        // Node's fetch uses the other variables only when this one is set.
        ["NODE_USE_ENV_PROXY", "1"],
      ]),
  );
}
