import { execFile } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { LancelotError } from "../../contract/errors.ts";
import type { ToolProvider } from "./capabilities.ts";
import {
  fileProvider,
  findFiles,
  gitProvider,
  openGit,
  ripgrepProvider,
  type SearchDeps,
  searchWorkspace,
  type WorkspaceFiles,
} from "../../workspace/workspace.ts";
import type { ShellProvider } from "../../sandbox/sandbox.ts";

export interface ProvidersDeps {
  readonly workspace: string | null;
  readonly files: WorkspaceFiles;
  readonly search: () => SearchDeps;
  /** In the order they are tried, unless config/tools.yaml says otherwise. */
  readonly shells: readonly ShellProvider[];
  /** True while the container engine is on another machine, where safe mode excludes it. */
  readonly remoteEngine: () => boolean;
  /** The providers of the web and of deployments. */
  readonly more: readonly ToolProvider[];
}

/** Creates the providers of this machine. */
export function createProviders(deps: ProvidersDeps): ToolProvider[] {
  return [workspaceFiles(deps), ripgrep(deps), git(), ...deps.shells.map((place, index) => shell(place, index, deps)), ...deps.more];
}

function workspaceFiles({ workspace, files }: ProvidersDeps): ToolProvider {
  return {
    id: fileProvider.name,
    title: "Workspace files",
    version: () => fileProvider.version,
    priority: 10,
    local: () => true,
    flag: null,
    offers: { file_ops: { read: files.current, write: files.write, apply_patch: files.write, delete: files.writeBytes } },
    blames: (error) => /^(?:EIO|ESTALE|ENXIO)$/.test(errnoWithin(error)),
    async probe() {
      if (workspace === null) return { status: "off", message: "No folder is open.", nextStep: "Open a folder." };
      try {
        const found = await stat(workspace);
        if (!found.isDirectory()) throw new LancelotError("unavailable", "The workspace is no longer a folder.");
        await access(workspace, constants.R_OK | constants.X_OK);
      } catch {
        return {
          status: "down",
          message: "The workspace's folder cannot be read.",
          nextStep: "Check that the folder exists, then open it again.",
        };
      }
      const writable = await access(workspace, constants.W_OK).then(
        () => true,
        () => false,
      );
      return writable
        ? { status: "ok", message: "The workspace is readable and writable.", nextStep: null }
        : { status: "degraded", message: "The workspace is read-only.", nextStep: "Check the permissions of its folder." };
    },
  };
}

function ripgrep({ search }: ProvidersDeps): ToolProvider {
  let version: string | null = null;
  return {
    id: ripgrepProvider.name,
    title: "Search (ripgrep)",
    version: () => version ?? ripgrepProvider.version,
    priority: 10,
    local: () => true,
    flag: null,
    offers: {
      file_ops: {
        search: (query, signal) => searchWorkspace(search(), query, signal),
        list: (query, limit, signal) => findFiles(search(), query, limit, signal),
      },
    },
    blames: isSpawnFault,
    async probe(signal) {
      let path: string;
      try {
        path = search().ripgrepPath;
      } catch {
        return { status: "off", message: "No folder is open.", nextStep: "Open a folder." };
      }
      const said = await versionOf(path, signal);
      if (said === null)
        return { status: "down", message: "The search program (ripgrep) does not start.", nextStep: "Reinstall Lancelot to repair it." };
      version = /(?<!\d)(\d+\.\d+\.\d+)/.exec(said)?.[1] ?? version;
      return { status: "ok", message: `ripgrep ${version ?? ""} searches the workspace.`, nextStep: null };
    },
  };
}

function git(): ToolProvider {
  let version: string | null = null;
  return {
    id: gitProvider.name,
    title: "Git",
    version: () => version,
    priority: 10,
    local: () => true,
    flag: null,
    offers: {
      repo_ops: {
        status: openGit,
        diff: openGit,
        log: openGit,
        commit: openGit,
        branch: openGit,
        checkout: openGit,
        push: openGit,
        clone: openGit,
      },
    },
    blames: isSpawnFault,
    async probe(signal) {
      const said = await versionOf("git", signal);
      const found = said === null ? undefined : /git version (\d+\.\d+(?:\.\d+)?)/.exec(said)?.[1];
      if (found === undefined)
        return { status: "down", message: "Git is not installed or not on the PATH.", nextStep: "Install git, then check again." };
      version = found;
      const [major = 0, minor = 0] = found.split(".").map(Number);
      // Older versions lack the settings that keep a repository from starting programs.
      if (major < 2 || (major === 2 && minor < 31))
        return { status: "degraded", message: `Git ${found} is old.`, nextStep: "Install git 2.31 or newer." };
      return { status: "ok", message: `Git ${found} works.`, nextStep: null };
    },
  };
}

/** Places of this machine that show a view come before those that copy it. */
const copiedPriority = 20;

function shell(
  place: ShellProvider,
  index: number,
  { shells, remoteEngine }: Pick<ProvidersDeps, "shells" | "remoteEngine">,
): ToolProvider {
  const onHost = place.place === "host";
  return {
    id: place.id,
    title: place.title,
    version: () => place.version(),
    get priority() {
      const isCopied = place.containment() === "copied" && shells.some((other) => other.containment() === "transactional");
      return isCopied ? copiedPriority : 10 + index;
    },
    local: () => place.place !== "container" || !remoteEngine(),
    flag: onHost ? "TOOLS_HOST_EXECUTION" : null,
    place: place.place,
    containment: () => place.containment(),
    ...(place.openView === undefined ? {} : { openView: place.openView }),
    // Only the user's choice leads out of the sandbox, never a failure in it.
    ...(onHost ? { allowsFailover: false } : {}),
    unsuited({ network, unattended, background }) {
      if (background === true && place.hasBackground !== true) return `${place.title} cannot run commands in the background.`;
      if (onHost && unattended) return "No user is present to approve commands outside the sandbox.";
      const isElsewhere = place.containment() === "copied" && remoteEngine();
      return isElsewhere && network ? "Commands with network access cannot run in a container engine on another machine." : null;
    },
    offers: {
      shell_exec: {
        run(command) {
          if (command.view === undefined || command.view.sandbox === place.id) return place.run(command);
          return Promise.reject(
            new LancelotError("unavailable", `${place.title} cannot run commands in this task's view of the workspace.`),
          );
        },
      },
    },
    probe: (signal) => place.probe(signal),
  };
}

/** The output of `--version`; null when the program does not start or fails. */
function versionOf(program: string, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const { PATH = "", SystemRoot } = process.env;
    const env = { PATH, LC_ALL: "C.UTF-8", ...(SystemRoot === undefined ? {} : { SystemRoot }) };
    execFile(
      program,
      ["--version"],
      { env, signal, timeout: 5_000, killSignal: "SIGKILL", windowsHide: true, maxBuffer: 64 * 1024 },
      (error, out) => resolve(error === null ? out : null),
    );
  });
}

/** True when a program could not be started, or was killed. */
function isSpawnFault(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if (/\bspawn \S+ E[A-Z]+|\bspawn E[A-Z]+/.test(inner.message)) return true;
    const { syscall, signal } = inner as { syscall?: unknown; signal?: unknown };
    if (typeof syscall === "string" && syscall.startsWith("spawn")) return true;
    if (typeof signal === "string" && !(inner instanceof LancelotError)) return true;
  }
  return false;
}

function errnoWithin(error: unknown): string {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { code } = inner as { code?: unknown };
    if (typeof code === "string" && /^E[A-Z]+$/.test(code)) return code;
  }
  return "";
}
