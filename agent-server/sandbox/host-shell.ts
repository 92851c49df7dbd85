import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import type { ProviderHealth } from "../contract/providers.ts";
import { commandEnvironment } from "./command-environment.ts";
import { runGated } from "./gated-process.ts";
import { markName, startProcessGuard } from "./host/process-guard.ts";
import { killProcessTree, signalQuietly } from "./host/process-tree.ts";
import { folderInside } from "./os/mount-layout.ts";
import { createPipeMaker } from "./output-pipes.ts";
import type { ShellProvider } from "./shell-provider.ts";

/**
 * Waits for the start signal, then runs the command in its own shell, so that the command's exit is distinguished from losing this shell.
 */
const inside = 'ulimit -c 0; printf ready >&4; read -r go <&3 || exit 125; exec 3<&- 4>&-; "$1" -c -- "$2" </dev/null; exit $?';

/**
 * Runs commands on this machine as the user, without isolation: they can read and change everything the user can. Requires the flag
 * TOOLS_HOST_EXECUTION, and each command requires approval (T3). All processes of a command still end with it, on stop and
 * with this process.
 * @param deps.enabled whether the flag is on, checked each time @param deps.folder for the names of pipes
 */
export function createHostShell(deps: {
  readonly workspace: string;
  readonly dataDir: string;
  readonly enabled: () => boolean;
  /** Makes the values of the secret files known to redaction. */
  readonly learnSecrets: () => Promise<void>;
  readonly env?: NodeJS.ProcessEnv;
}): ShellProvider {
  const env = deps.env ?? process.env;
  const windows = process.platform === "win32";
  const shell = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh";
  const pipes = createPipeMaker(join(deps.dataDir, "sandbox"));
  const running = new Set<{ stop: () => void; over: Promise<unknown> }>();

  const health = (status: ProviderHealth["status"], message: string, nextStep: string | null): ProviderHealth => ({
    status,
    message,
    nextStep,
    checkedAt: new Date().toISOString(),
  });

  return {
    id: "host",
    title: "This machine, without a sandbox",
    place: "host",
    version: () => null,
    containment: () => "host",
    probe() {
      if (windows) return Promise.resolve(health("down", "Commands cannot run directly on Windows yet.", "Use a container engine or WSL."));
      if (!deps.enabled())
        return Promise.resolve(
          health("off", "Commands outside a sandbox are turned off.", "Turn on the flag TOOLS_HOST_EXECUTION to allow them."),
        );
      return Promise.resolve(
        health("degraded", "Commands run on this machine without a sandbox, with your permissions. Each one requires your approval.", null),
      );
    },
    async run(command) {
      if (!deps.enabled())
        throw new LancelotError(
          "unavailable",
          "Commands outside a sandbox are turned off. Turn on the flag TOOLS_HOST_EXECUTION to allow them.",
        );
      if (windows) throw new LancelotError("unavailable", "Commands cannot run directly on Windows yet. Use a container engine or WSL.");
      const cwd = folderInside(deps.workspace, command.cwd);
      if (cwd === null)
        throw new LancelotError("invalid_params", "The command's working folder is not in the workspace. Use a workspace folder.");
      await deps.learnSecrets();
      const mark = randomBytes(16).toString("hex");
      const stop = new AbortController();
      const guards: ChildProcess[] = [];
      const { username } = userInfo();
      const ending = runGated(
        { ...command, signal: AbortSignal.any([command.signal, stop.signal]) },
        {
          file: "/bin/sh",
          args: ["-c", inside, "lancelot", shell, command.command],
          cwd,
          env: {
            ...commandEnvironment(env, {
              HOME: env["HOME"] ?? homedir(),
              TMPDIR: tmpdir(),
              USER: username,
              LOGNAME: username,
              SHELL: shell,
            }),
            [markName]: mark,
          },
          detached: true,
          pipes,
          async onReady(child) {
            guards.push(await startProcessGuard(child.pid ?? 0, `${markName}=${mark}`));
          },
          kill(child) {
            if (child.pid !== undefined) signalQuietly(-child.pid, "SIGKILL");
          },
          async gone(child) {
            const killedOrphans = child.pid === undefined ? false : await killProcessTree(child.pid, `${markName}=${mark}`);
            for (const guard of guards) guard.stdin?.end("over\n");
            return { killedOrphans };
          },
          refusal: (_said, cause) =>
            new LancelotError("unavailable", "The command could not be started on this machine. Try again.", { cause }),
        },
      );
      const entry = { stop: () => stop.abort(), over: ending.catch(() => {}) };
      running.add(entry);
      return await ending.finally(() => running.delete(entry));
    },
    async close() {
      for (const { stop } of running) stop();
      await Promise.all([...running].map(({ over }) => over));
      await pipes.close();
    },
  };
}
