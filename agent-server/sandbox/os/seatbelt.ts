import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { homedir, release } from "node:os";
import { dirname, join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { ProviderHealth } from "../../contract/providers.ts";
import { findRepository } from "../../workspace/workspace.ts";
import { watchGrowth } from "../container/disk-usage.ts";
import { commandEnvironment, proxyEnvironment } from "../command-environment.ts";
import { createProcessGroup } from "../host/process-group.ts";
import type { OsShellDeps } from "./os-shell-deps.ts";
import { createPipeMaker } from "../output-pipes.ts";
import { createRunningCommands } from "../running-commands.ts";
import { healthNow, type ShellCommand, type ShellProvider, type ShellResult } from "../shell-provider.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { assertNarrowWorkspace, folderInside, repositoryOutside } from "./mount-layout.ts";
import { seatbeltProfile } from "./seatbelt-profile.ts";

/** Timeout of the probe, ms. */
const probeWithin = 5_000;

/**
 * Runs commands in Seatbelt, the sandbox of macOS (docs/decisions/0012-os-sandbox.md). It has no namespaces: commands can see the names of
 * other processes and folders, and their processes are found by group and parent at the end.
 */
export function createSeatbeltShell(deps: OsShellDeps): ShellProvider {
  const program = deps.program ?? "/usr/bin/sandbox-exec";
  const env = deps.env ?? process.env;
  const home = env["HOME"] ?? homedir();
  const shell = ["/bin/bash", "/usr/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh";
  const pipes = createPipeMaker(join(deps.dataDir, "sandbox"));
  const running = createRunningCommands();
  /** True when a test run confirmed the isolation. */
  let holds = false;

  async function start(command: ShellCommand, proxyPort: number | null, extra: Record<string, string>): Promise<ShellResult> {
    const { workspace } = deps;
    assertNarrowWorkspace(workspace, existsSync(home) ? realpathSync(home) : home);
    const cwd = folderInside(workspace, command.cwd);
    if (cwd === null)
      throw new LancelotError("invalid_params", "The command's working folder is not in the workspace. Use a workspace folder.");
    const limits = deps.limits();
    const repository = findRepository(workspace);
    const common = repository?.commonDir ?? null;
    const outside = repositoryOutside(workspace);
    const masked = await deps.masked(outside);
    const ofRepository =
      common === null ? [] : ["hooks", "config", "config.worktree", "info/attributes", "commondir"].map((name) => join(common, name));
    const scratch = makeTemporaryFolder("command");
    try {
      mkdirSync(join(scratch, "home"));
      chmodSync(scratch, 0o700);
      const profile = seatbeltProfile({
        workspace,
        scratch,
        dataDir: existsSync(deps.dataDir) ? realpathSync(deps.dataDir) : deps.dataDir,
        writable: outside,
        protectedPaths: [...deps.protectedPaths().map((path) => (path.startsWith("/") ? path : join(workspace, path))), ...ofRepository],
        masked,
        readable: deps.readable?.() ?? [],
        proxyPort,
      });
      const script = [
        "ulimit -c 0",
        `ulimit -f ${Math.ceil(limits.workspaceBytes / 1024)}`,
        "printf ready >&4",
        "read -r go <&3 || exit 125",
        "exec 3<&- 4>&-",
        '"$1" -c -- "$2" </dev/null',
        "exit $?",
      ].join("; ");
      const { mark, life } = createProcessGroup();
      return await running.run(command, {
        file: program,
        args: ["-p", profile, shell, "-c", script, "lancelot", shell, command.command],
        cwd,
        env: {
          ...deps.toolchains?.(),
          ...commandEnvironment(env, {
            HOME: join(scratch, "home"),
            TMPDIR: scratch,
            USER: "lancelot",
            LOGNAME: "lancelot",
            SHELL: shell,
          }),
          ...extra,
          ...mark,
        },
        ...life,
        pipes,
        watch: (end) =>
          watchGrowth(workspace, limits.workspaceBytes, () => {
            const words = `\nlancelot: stopped because it added more than ${Math.round(limits.workspaceBytes / (1 << 20))} MB to the workspace.\n`;
            command.onOutput("stderr", Buffer.from(words));
            end("limit");
          }),
        refusal: (said, cause) => new LancelotError("unavailable", `The macOS sandbox could not start: ${firstLine(said)}`, { cause }),
      });
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }

  /** Tests operations that the sandbox must deny. @returns a description of each one it allowed; none when isolation works. */
  async function probeIsolation(signal: AbortSignal): Promise<string[]> {
    const listener = await listen();
    const address = listener.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const beside = join(dirname(deps.workspace), `lancelot-probe-${randomBytes(6).toString("hex")}`);
    let said = "";
    try {
      const result = await start(
        {
          command: [
            'echo works >"$HOME/x" && cat "$HOME/x"',
            `ls ${quoted(home)} >/dev/null 2>&1 && echo reads the home folder`,
            `(echo x >${quoted(beside)}) 2>/dev/null && echo writes beside the workspace`,
            `(exec 5<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reaches the network`,
            "true",
          ].join("\n"),
          cwd: deps.workspace,
          timeoutMs: probeWithin,
          outputBytes: 10_000,
          network: false,
          signal,
          onOutput: (_stream, bytes) => (said += Buffer.from(bytes).toString("utf8")),
          onStarted: () => {},
        },
        null,
        {},
      );
      const lines = said.split("\n").filter((line) => line !== "");
      if (result.ended !== "exit" || lines[0] !== "works") return [`does not run programs (${firstLine(said)})`];
      return lines.slice(1);
    } finally {
      listener.close();
      rmSync(beside, { force: true });
    }
  }

  async function probe(signal?: AbortSignal): Promise<ProviderHealth> {
    try {
      const wrong = existsSync(program) ? await probeIsolation(signal ?? new AbortController().signal) : ["is missing"];
      holds = wrong.length === 0;
      if (!holds)
        return healthNow(
          "down",
          `The OS sandbox is unavailable: the macOS sandbox ${wrong.join(", ")}.`,
          "Use a container engine for commands.",
        );
      return healthNow(
        "degraded",
        "Commands run in the macOS sandbox, which does not limit memory or processes and does not allow commands to open ports.",
        "Use a container engine for commands that require this.",
      );
    } catch (error) {
      holds = false;
      return healthNow(
        "down",
        error instanceof LancelotError ? error.message : "The macOS sandbox could not be tested.",
        "Use a container engine for commands.",
      );
    }
  }

  return {
    id: "seatbelt",
    title: "OS sandbox (Seatbelt)",
    place: "os_sandbox",
    version: () => (holds ? release() : null),
    containment: () => "watched",
    probe,
    async run(command) {
      if (command.signal.aborted) return { exitCode: null, ended: "stopped", outputBytes: 0, durationMs: 0, killedOrphans: false };
      if (!holds) {
        const { status, message, nextStep } = await probe(command.signal);
        if (status === "down") throw new LancelotError("unavailable", `${message} ${nextStep ?? ""}`.trim());
      }
      if (command.network && deps.egress === null)
        throw new LancelotError("unavailable", "Commands have no network access here. Run the command without it.");
      const grant = command.network && deps.egress !== null ? await deps.egress.grant(command.onConnection, command.hosts) : null;
      try {
        const port = grant === null ? null : await grant.loopbackPort();
        return await start(command, port, grant === null ? {} : proxyEnvironment(grant.proxyUrl(`127.0.0.1:${port}`)));
      } finally {
        await grant?.revoke();
      }
    },
    async close() {
      await running.stop();
      await pipes.close();
    },
  };
}

const quoted = (word: string) => `'${word.replaceAll("'", String.raw`'\''`)}'`;

function firstLine(said: string): string {
  return (said.split("\n").find((line) => line.trim() !== "") ?? "no output").slice(0, 200);
}

function listen(): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}
