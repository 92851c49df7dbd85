import { delimiter } from "node:path";

/** Taken over from the owner's environment as they are: words about language and time, nothing that could be a credential. */
const plain = ["LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "TZ"];
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Windows programs do not start without these. */
const windows = ["SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "windir", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"];

/**
 * The environment of a command, built from nothing: an allowlist of the owner's, and settings with which programs neither ask nor page.
 * @param given the owner's environment. @param own what the place sets itself (home, folder for temporary files).
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
    // Nobody is there to answer.
    GIT_TERMINAL_PROMPT: "0",
    GIT_PAGER: "cat",
    PAGER: "cat",
    DEBIAN_FRONTEND: "noninteractive",
    ...own,
  };
}

/** The folders programs are looked for in: absolute ones alone, so that nothing in the working folder passes for a program. */
export function pathOf(given: NodeJS.ProcessEnv): string {
  const folders = (given["PATH"] ?? "").split(delimiter).filter((folder) => /^(?:\/|[a-z]:[\\/])/i.test(folder));
  return folders.length > 0 ? [...new Set(folders)].join(delimiter) : systemPath;
}

/** Settings that lead programs to a proxy. Both cases, because programs disagree on which they read. */
export function proxyEnvironment(url: string): Record<string, string> {
  return Object.fromEntries(
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
      .map((name) => [name, url] as const)
      .concat([
        ["NO_PROXY", "localhost,127.0.0.1,::1"],
        ["no_proxy", "localhost,127.0.0.1,::1"],
        // Node's own fetch heeds the others only with this.
        ["NODE_USE_ENV_PROXY", "1"],
      ]),
  );
}
