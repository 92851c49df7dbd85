import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import type { OverlayView } from "../../workspace/workspace.ts";
import { pathOf } from "../command-environment.ts";
import type { ListeningPort } from "../shell-provider.ts";

/** How long (ms) a connection to a port in a sandbox may take. */
const connectSeconds = 10;

/** A network namespace that stays while a background command runs in it. */
export interface CommandNetwork {
  readonly descriptor: number;
  /** Call it once the command has ended. */
  leave(): void;
}

/** The network namespaces that the commands of a view share: that of the first background command, while any of them runs. */
export interface ViewNetworks {
  /** The descriptor of the namespace that a further command of the view enters; null for one of its own. */
  of(view: OverlayView): number | null;
  /**
   * Keeps the namespace of a background command.
   * @param pid its first process @param isShared false: other commands of the view do not enter it
   */
  keep(view: OverlayView, pid: number, isShared: boolean): CommandNetwork;
}

export function createViewNetworks(): ViewNetworks {
  const shared = new WeakMap<OverlayView, { descriptor: number; users: number }>();
  return {
    of: (view) => shared.get(view)?.descriptor ?? null,
    keep(view, pid, isShared) {
      const known = isShared ? shared.get(view) : undefined;
      const network = known ?? { descriptor: openSync(`/proc/${pid}/ns/net`, "r"), users: 0 };
      network.users += 1;
      if (isShared) shared.set(view, network);
      let hasLeft = false;
      return {
        descriptor: network.descriptor,
        leave() {
          if (hasLeft) return;
          hasLeft = true;
          network.users -= 1;
          if (network.users > 0) return;
          if (isShared) shared.delete(view);
          closeSync(network.descriptor);
        },
      };
    },
  };
}

/** Words that start a program in the namespaces of a view and in a network namespace. @param inherited its descriptor in that program */
export function enterWithNetwork(view: OverlayView, inherited: number): string[] {
  return [...view.enter.slice(0, -1), `--net=/proc/self/fd/${inherited}`, "--"];
}

/** Connects a client to a port in a network namespace, through one process, until either side closes. */
export function forwardInside(
  view: OverlayView,
  descriptor: number,
  { port, family }: ListeningPort,
  { client, env }: { readonly client: Duplex; readonly env: NodeJS.ProcessEnv },
): void {
  const address = family === 6 ? `TCP6:[::1]:${port}` : `TCP4:127.0.0.1:${port}`;
  const [file = "nsenter", ...words] = enterWithNetwork(view, 3);
  const child = spawn(file, [...words, "socat", "-t", "0.5", "STDIO", `${address},connect-timeout=${connectSeconds}`], {
    cwd: "/",
    env: { PATH: pathOf(env) },
    stdio: ["pipe", "pipe", "ignore", descriptor],
  });
  const { stdin, stdout } = child as ChildProcess & { readonly stdin: Writable; readonly stdout: Readable };
  const close = (): void => {
    client.destroy();
    child.kill("SIGKILL");
  };
  for (const stream of [client, stdin, stdout]) stream.on("error", () => undefined);
  child.once("error", close);
  client.once("close", close);
  // The program waits half a second for the client's end.
  stdout.once("end", () => client.end(close));
  client.pipe(stdin);
  stdout.pipe(client, { end: false });
}
