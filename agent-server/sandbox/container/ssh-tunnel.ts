import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LancelotError } from "../../contract/errors.ts";
import type { EngineAddress } from "./engine-endpoint.ts";

/** A local socket that connects to an engine on another machine. */
export interface Tunnel {
  readonly socket: string;
  readonly closed: boolean;
  close(): void;
}

const readyWithin = 15_000;

/**
 * Opens `ssh -L`. Its remote command is a `cat` that reads from this process: when this process dies, the input ends, then cat, then ssh.
 * Never prompts: an unknown host or key is an error.
 * @throws LancelotError `unavailable`
 */
export async function openTunnel(
  address: Extract<EngineAddress, { kind: "ssh" }>,
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<Tunnel> {
  // Short, because a socket path has at most about a hundred characters.
  const folder = mkdtempSync(join(tmpdir(), "lancelot-ssh-"));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const socket = join(folder, "engine.sock");
  const child = spawn(
    "ssh",
    [
      ...["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"],
      ...["-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindMask=0177", "-o", "ControlPath=none", "-T"],
      ...(address.port === null ? [] : ["-p", String(address.port)]),
      ...["-L", `${socket}:${address.socket}`, "--", address.destination, "cat > /dev/null"],
    ],
    { env, stdio: ["pipe", "ignore", "pipe"], windowsHide: true },
  );
  const state = { closed: false, said: "" };
  const close = () => {
    state.closed = true;
    child.kill("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  };
  child.stderr.on("data", (bytes: Buffer) => (state.said = `${state.said}${bytes.toString("utf8")}`.slice(-2_000)));
  child.stdin.on("error", () => {});
  child.once("error", (error) => {
    state.said = error.message;
    close();
  });
  child.once("exit", close);
  const end = Date.now() + readyWithin;
  while (!existsSync(socket)) {
    if (state.closed || signal?.aborted || Date.now() > end) {
      close();
      const why = state.said.trim().split("\n").at(-1) ?? "";
      throw new LancelotError(
        "unavailable",
        `The container engine on ${address.destination} cannot be reached by ssh${why === "" ? "" : ` (${why})`}. Check that ssh ${address.destination} works without prompts.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    socket,
    get closed() {
      return state.closed;
    },
    close,
  };
}
