import { existsSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import { commandEnvironment } from "./command-environment.ts";
import { createProcessGroup } from "./host/process-group.ts";
import { folderInside } from "./os/mount-layout.ts";
import { createPipeMaker } from "./output-pipes.ts";
import { createRunningCommands } from "./running-commands.ts";
import { healthNow, type ShellProvider } from "./shell-provider.ts";

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
  const running = createRunningCommands();

  return {
    id: "host",
    title: "This machine, without a sandbox",
    place: "host",
    version: () => null,
    containment: () => "host",
    probe() {
      if (windows)
        return Promise.resolve(healthNow("down", "Commands cannot run directly on Windows yet.", "Use a container engine or WSL."));
      if (!deps.enabled())
        return Promise.resolve(
          healthNow("off", "Commands outside a sandbox are turned off.", "Turn on the flag TOOLS_HOST_EXECUTION to allow them."),
        );
      return Promise.resolve(
        healthNow(
          "degraded",
          "Commands run on this machine without a sandbox, with your permissions. Each one requires your approval.",
          null,
        ),
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
      const { username } = userInfo();
      const { mark, life } = createProcessGroup();
      return await running.run(command, {
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
          ...mark,
        },
        ...life,
        pipes,
        refusal: (_said, cause) =>
          new LancelotError("unavailable", "The command could not be started on this machine. Try again.", { cause }),
      });
    },
    async close() {
      await running.stop();
      await pipes.close();
    },
  };
}
