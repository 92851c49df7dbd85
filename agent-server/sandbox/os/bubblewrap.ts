import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, existsSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { LancelotError } from "../../contract/errors.ts";
import type { ProviderHealth } from "../../contract/providers.ts";
import { commandEnvironment, proxyEnvironment } from "../command-environment.ts";
import { lastingWindow, watchGrowth } from "../container/disk-usage.ts";
import { gitIdentitySettings } from "../git-identity.ts";
import { runGated } from "../gated-process.ts";
import type { OsShellDeps } from "./os-shell-deps.ts";
import { createPipeMaker } from "../output-pipes.ts";
import { cleanupStandIns, gitWithMasks, makeMaskFile } from "../secret-masks.ts";
import type { ShellProvider } from "../shell-provider.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { type BubblewrapInfo, bubblewrapProblem as problemOf, inspectBubblewrap } from "./bubblewrap-info.ts";
import { installAdvice, explainFailure } from "./setup-advice.ts";
import { type ControlGroup, findControlGroups } from "./control-groups.ts";
import { forwarderPort, insideScript } from "./inner-script.ts";
import {
  bubblewrapArguments,
  assertNarrowWorkspace,
  folderInside,
  findMisplacedMount,
  programFolders,
  repositoryOutside,
  viewMounts,
  workspaceMounts,
} from "./mount-layout.ts";
import { identityInside, ownerOf } from "./command-user.ts";
import { countsByNamespace, killQuietly, startTimeOf, untilGone } from "./namespace-process.ts";
import { createPlaceholders, sweep } from "./placeholder-files.ts";
import { seccompFilter } from "./seccomp.ts";
import { makeSystemFiles, type SystemFiles } from "./system-files.ts";
import { openOverlayView, temporaryInView, tryOverlayView } from "../overlay/overlay-view.ts";
import { treeOf, watchProcesses, writtenBy } from "./process-watch.ts";
import { createBackgroundProcess } from "./background-process.ts";
import { type CommandNetwork, createViewNetworks, enterWithNetwork } from "./view-network.ts";

const shellId = "bubblewrap";
/** Descriptors of the sandboxed process; 3 and 4 belong to the gate. */
const infoDescriptor = 5;
const seccompDescriptor = 6;
/** The network namespace of the view, where there is one. */
const networkDescriptor = 7;

interface Prepared {
  readonly systemFiles: SystemFiles;
  /** Contains what commands see in place of secret files. Their user can enter it but not list it. */
  readonly maskFolder: string;
  readonly seccomp: string | null;
  /** The filter of background commands. */
  readonly pausableSeccomp: string | null;
}

/** Runs commands in bubblewrap (docs/decisions/0012-os-sandbox.md). */
export function createBubblewrapShell(deps: OsShellDeps): ShellProvider {
  const program = deps.program ?? "bwrap";
  const env = deps.env ?? process.env;
  const folder = join(deps.dataDir, "sandbox");
  const placeholders = createPlaceholders(folder);
  const groups = process.getuid?.() === 0 ? findControlGroups() : null;
  const running = new Set<{ stop: () => void; over: Promise<unknown> }>();
  let found: BubblewrapInfo | null = null;
  let prepared: Promise<Prepared> | null = null;
  const pipes = createPipeMaker(folder);
  const networks = createViewNetworks();
  const viewOptions = () => ({ sandbox: shellId, env, owner: ownerOf(deps.workspace) });
  /** Why the workspace cannot be shown copy-on-write, as of the last probe; null where it can. */
  let noViews: string | null = "The sandbox was not checked yet.";

  async function inspect(signal?: AbortSignal): Promise<BubblewrapInfo> {
    found = await inspectBubblewrap({ program, env, owner: ownerOf(deps.workspace) }, signal);
    return found;
  }

  async function probe(signal?: AbortSignal): Promise<ProviderHealth> {
    const health = (status: ProviderHealth["status"], message: string, nextStep: string | null = null): ProviderHealth => ({
      status,
      message,
      nextStep,
      checkedAt: new Date().toISOString(),
    });
    try {
      const seen = await inspect(signal);
      noViews = await tryOverlayView(folder, { ...viewOptions(), lower: deps.workspace });
      const lacking = [
        ...(noViews === null ? [] : [`their changes are not held back until you accept them (${noViews.replace(/\.$/, "")})`]),
        ...(seen.socat ? [] : ["commands have no network access, because socat is missing"]),
        ...(seen.sizes ? [] : ["the size of temporary files is not limited, because bubblewrap is older than 0.7"]),
        ...(seccompFilter(process.arch) === null ? ["system calls are not filtered on this processor"] : []),
      ];
      if (lacking.length === 0) return health("ok", "Commands run in a bubblewrap sandbox.");
      return health(
        "degraded",
        `Commands run in a bubblewrap sandbox, but ${lacking.join(", and ")}.`,
        seen.socat ? null : installAdvice(["socat"]),
      );
    } catch (error) {
      found = null;
      const problem = problemOf(error);
      return health("down", problem.message, problem.nextStep);
    }
  }

  /** The sandbox's /etc and the system call filter, created once. */
  async function prepare(): Promise<Prepared> {
    sweep(folder);
    const { uid, gid } = identityInside(deps.workspace);
    const write = (filter: Uint8Array | null): string | null => {
      const path = filter === null ? null : join(folder, `${process.pid}-${randomBytes(4).toString("hex")}-seccomp`);
      if (filter !== null && path !== null) writeFileSync(path, filter, { mode: 0o600, flag: "wx" });
      return path;
    };
    const [seccomp, pausableSeccomp] = [write(seccompFilter(process.arch)), write(seccompFilter(process.arch, true))];
    const maskFolder = makeTemporaryFolder("masks");
    chmodSync(maskFolder, 0o711);
    const gitSettings = await gitIdentitySettings(new AbortController().signal);
    return { systemFiles: makeSystemFiles(uid, gid, gitSettings), maskFolder, seccomp, pausableSeccomp };
  }

  const run: ShellProvider["run"] = async (command) => {
    const seen =
      found ??
      (await inspect().catch((error: unknown) => {
        const { message, nextStep } = problemOf(error);
        throw new LancelotError("unavailable", `${message} ${nextStep}`, { cause: error });
      }));
    const { workspace } = deps;
    assertNarrowWorkspace(workspace, realHome(env));
    const cwd = folderInside(workspace, command.cwd);
    if (cwd === null)
      throw new LancelotError("invalid_params", "The command's working folder is not in the workspace. Use a workspace folder.");
    if (command.network && !seen.socat)
      throw new LancelotError(
        "unavailable",
        `Commands have no network access in this sandbox, because socat is missing. ${installAdvice(["socat"])}`,
      );
    if (command.network && deps.egress === null)
      throw new LancelotError("unavailable", "Commands have no network access here. Run the command without it.");

    const limits = deps.limits();
    const { view, onBackground } = command;
    const masked = await deps.masked(repositoryOutside(workspace), view);
    const { systemFiles, maskFolder, ...filters } = await (prepared ??= prepare().catch((error: unknown) => {
      prepared = null;
      throw error;
    }));
    const removeStandIns = view === undefined ? cleanupStandIns(masked) : () => undefined;
    const seccomp = onBackground === undefined ? filters.seccomp : filters.pausableSeccomp;
    const { mounts, missing } =
      view === undefined
        ? workspaceMounts(workspace, deps.dataDir, deps.protectedPaths(), masked)
        : { mounts: viewMounts(view, masked), missing: [] };
    const shown = [...programFolders(env), ...(deps.readable?.() ?? [])];
    const releasePlaceholders = placeholders.hold(
      missing,
      mounts.map(({ path }) => path),
    );
    const grant = command.network && deps.egress !== null ? await deps.egress.grant(command.onConnection, command.hosts) : null;
    let group: ControlGroup | null = null;
    let network = null as CommandNetwork | null;
    const descriptors: number[] = [];
    let told: Promise<void> = Promise.resolve();
    let first: { readonly pid: number; readonly startedAt: string } | null = null;
    try {
      const shell = seen.bash ? "bash" : "sh";
      descriptors.push(openSync(seccomp ?? "/dev/null", "r"));
      // With access to the network, a command has a namespace of its own: others in it could take the place of its forwarder.
      const shared = view === undefined || grant !== null ? null : networks.of(view);
      if (shared !== null) descriptors.push(openSync(`/proc/self/fd/${shared}`, "r"));
      group = groups?.create(limits) ?? null;
      const script = insideScript(
        shell,
        {
          memoryBytes: group === null ? limits.memoryBytes : null,
          processes: group === null && countsByNamespace() ? limits.processes : null,
          fileBytes: limits.workspaceBytes,
        },
        grant !== null,
        shared === null ? null : networkDescriptor,
      );
      const { uid, gid } = identityInside(workspace);
      const args = bubblewrapArguments({
        workspaceMounts: mounts,
        shown,
        uid,
        gid,
        cwd,
        scratchBytes: limits.scratchBytes,
        temporaryFolder: view === undefined ? null : temporaryInView,
        sizes: seen.sizes,
        modes: seen.modes,
        noUserNamespaces: seen.noUserNamespaces,
        systemFiles,
        maskOf: (path) => makeMaskFile(maskFolder, path),
        seccomp: seccomp === null ? null : seccompDescriptor,
        info: infoDescriptor,
        egressSocket: grant === null ? null : grant.socketPath,
        keepsNetwork: shared !== null,
      });
      const enter = view === undefined ? [] : shared === null ? view.enter : enterWithNetwork(view, networkDescriptor);
      const [start, ...before] = [...enter, program];
      const stop = new AbortController();
      const ending = runGated(
        { ...command, signal: AbortSignal.any([command.signal, stop.signal]) },
        {
          file: start,
          args: [...before, ...args, "--", shell, "-c", script, "lancelot", shell, command.command],
          cwd: "/",
          env: {
            ...deps.toolchains?.(),
            ...commandEnvironment(env, {
              HOME: "/tmp/home",
              TMPDIR: "/tmp",
              USER: "lancelot",
              LOGNAME: "lancelot",
              SHELL: `/bin/${shell}`,
              ...gitWithMasks,
            }),
            ...(grant === null ? {} : proxyEnvironment(grant.proxyUrl(`127.0.0.1:${forwarderPort}`))),
          },
          // Entering a view changes the user.
          owner: view === undefined ? ownerOf(workspace) : undefined,
          pipes,
          descriptors: ["pipe", ...descriptors],
          onSpawn(child) {
            const stream = (child.stdio as (Readable | null | undefined)[])[infoDescriptor];
            let info = "";
            // This information has its own descriptor and may arrive after the ready message.
            told = new Promise((resolve) => {
              stream?.on("data", (bytes: Buffer) => {
                info += bytes.toString("latin1");
                const pid = Number(/"child-pid": (\d+)/.exec(info)?.[1] ?? "0");
                if (pid > 0) first ??= { pid, startedAt: startTimeOf(pid) ?? "" };
                if (pid > 0) resolve();
              });
              stream?.once("close", resolve);
              stream?.once("error", () => resolve());
            });
          },
          async onReady(child) {
            await told;
            if (first === null || child.pid === undefined) throw new Error("bubblewrap did not report its child process.");
            const wrong = findMisplacedMount(readFileSync(`/proc/${first.pid}/mountinfo`, "utf8"), workspace, mounts, shown, maskFolder);
            if (wrong !== null) {
              deps.log(`the sandbox has an unexpected mount: ${wrong}`);
              throw new LancelotError("unavailable", "Files of the workspace changed while the sandbox started. Try again.");
            }
            removeStandIns();
            group?.join([child.pid, ...treeOf(first.pid)]);
            if (onBackground !== undefined && view !== undefined)
              network = networks.keep(view, first.pid, shared !== null || networks.of(view) === null);
          },
          watch(end) {
            const root = first;
            const over = (words: string) => {
              command.onOutput("stderr", Buffer.from(`\nlancelot: stopped because it ${words}.\n`));
              end("limit");
            };
            if (view !== undefined && network !== null && first !== null)
              onBackground?.(
                createBackgroundProcess({
                  ...{ view, network, first, env },
                  hasForwarder: grant !== null,
                  end: () => stop.signal.aborted || command.signal.aborted || over("could not be paused"),
                }),
              );
            const stops = [
              watchGrowth(
                view?.folder ?? workspace,
                limits.workspaceBytes,
                () => over(`added more than ${megabytes(limits.workspaceBytes)} MB to the workspace`),
                ...(root === null ? [] : [{ now: () => writtenBy(root.pid), windowMs: lastingWindow }]),
              ),
              ...(group === null && first !== null
                ? [
                    watchProcesses(first.pid, limits, (why) =>
                      why === "memory" ? end("memory") : over(`started more than ${limits.processes} processes`),
                    ),
                  ]
                : []),
            ];
            return () => stops.forEach((stopWatching) => stopWatching());
          },
          kill(child) {
            // The namespace's first process ends with its parent, and all others end with it.
            child.kill("SIGKILL");
            if (first !== null && startTimeOf(first.pid) === first.startedAt) killQuietly(first.pid);
          },
          async gone() {
            await untilGone(first);
            return { killedOrphans: false };
          },
          overMemory: () => group?.overMemory() ?? false,
          refusal(said, cause) {
            found = null;
            const { message, nextStep } = explainFailure(said);
            return new LancelotError("unavailable", `${message} ${nextStep}`, { cause });
          },
        },
      );
      const entry = { stop: () => stop.abort(), over: ending.catch(() => {}) };
      running.add(entry);
      return await ending.finally(() => running.delete(entry));
    } finally {
      for (const descriptor of descriptors) closeSync(descriptor);
      releasePlaceholders();
      removeStandIns();
      group?.remove();
      network?.leave();
      await grant?.revoke();
    }
  };

  return {
    id: shellId,
    title: "OS sandbox (bubblewrap)",
    place: "os_sandbox",
    hasBackground: true,
    version: () => found?.version ?? null,
    probe,
    containment: () => (noViews === null ? "transactional" : "watched"),
    openView: ({ folder: of, layers }) => openOverlayView({ ...viewOptions(), folder: of, layers }),
    run,
    async close() {
      for (const { stop } of running) stop();
      await Promise.all([...running].map(({ over }) => over));
      await pipes.close();
      const made = await prepared?.catch(() => null);
      prepared = null;
      if (made === null || made === undefined) return;
      for (const folder of [made.systemFiles.folder, made.maskFolder]) rmSync(folder, { recursive: true, force: true });
      for (const path of [made.seccomp, made.pausableSeccomp]) if (path !== null) rmSync(path, { force: true });
    },
  };
}

function realHome(env: NodeJS.ProcessEnv): string {
  const home = env["HOME"] ?? homedir();
  return existsSync(home) ? realpathSync(home) : home;
}

const megabytes = (bytes: number) => Math.round(bytes / (1 << 20));
