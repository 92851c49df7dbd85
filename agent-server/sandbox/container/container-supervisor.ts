import type { Duplex } from "node:stream";
import { EngineSilent } from "./engine-call.ts";
import { createFrames } from "./stream-frames.ts";

/** A process in the container, as reported by the container's own process. */
export interface InnerProcess {
  readonly pid: number;
  readonly parent: number;
  readonly uid: number;
  /** A zombie: it ended but was not collected yet. */
  readonly over: boolean;
}

/** Connection to the container's own process. The container lives as long as this connection. */
export interface Supervisor {
  readonly alive: boolean;
  /** Resolves when the connection, and with it the container, has ended. */
  readonly over: Promise<void>;
  about(): Promise<{ nonce: string; shell: string; forwarder: boolean; home: boolean }>;
  processes(): Promise<InnerProcess[]>;
  /** Number of out-of-memory kills since the container started; 0 when this is not visible. */
  killsForMemory(): Promise<number>;
  /** The kernel's counts of what this process wrote, with all processes that it collected: lines of /proc/self/io. */
  written(): Promise<string>;
  /** Lines of /proc/self/mountinfo. */
  mounts(): Promise<string[]>;
  close(): void;
}

const answerWithin = 5_000;

/** Sends requests over a hijacked `attach` connection, one at a time. */
export function createSupervisor(stream: Duplex): Supervisor {
  const state = { alive: true };
  let heard = "";
  let answer: ((text: string) => void) | null = null;
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const close = () => {
    state.alive = false;
    stream.destroy();
    end();
  };
  const frames = createFrames((name, bytes) => {
    if (name !== "stdout") return;
    heard += Buffer.from(bytes).toString("latin1");
    // Far more than a real process list: the other side is not the supervisor script.
    if (heard.length > 8_000_000) return close();
    if (heard === ".\n" || heard.endsWith("\n.\n")) {
      const text = heard;
      heard = "";
      answer?.(text.slice(0, -2));
    }
  });
  stream.on("data", (chunk: Buffer) => {
    try {
      frames(chunk);
    } catch {
      close();
    }
  });
  for (const event of ["end", "close", "error"]) stream.on(event, close);

  let turn: Promise<unknown> = Promise.resolve();
  function question(word: string): Promise<string> {
    const asked = turn.then(async () => {
      if (!state.alive) throw new EngineSilent("The container no longer runs.");
      const { promise, resolve } = Promise.withResolvers<string>();
      answer = resolve;
      stream.write(`${word}\n`);
      let timer: NodeJS.Timeout | undefined;
      try {
        return await Promise.race([
          promise,
          over.then(() => Promise.reject(new EngineSilent("The container ended."))),
          new Promise<never>((_resolve, reject) => {
            timer = setTimeout(() => {
              // A late answer would be mistaken for that of the next request.
              reject(new EngineSilent("The container does not respond."));
              close();
            }, answerWithin);
          }),
        ]);
      } finally {
        clearTimeout(timer);
        answer = null;
      }
    });
    turn = asked.catch(() => {});
    return asked;
  }

  return {
    get alive() {
      return state.alive;
    },
    over,
    async about() {
      // Podman forwards the body of the attach request, so the first line may contain other text.
      await question("");
      const lines = (await question("about")).split("\n");
      const said = (name: string) => lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? "";
      return {
        nonce: said("nonce"),
        shell: said("shell") === "bash" ? "bash" : "sh",
        forwarder: said("forwarder") === "ready",
        home: said("home") === "ready",
      };
    },
    async processes() {
      return (await question("processes")).split("\n").flatMap((line) => {
        const [pid, parent, uid, state] = line.split(" ");
        // A process that ended during the listing has no parent.
        if (pid === undefined || parent === undefined || parent === "-" || uid === "-") return [];
        return [{ pid: Number(pid), parent: Number(parent), uid: Number(uid), over: state === "Z" || state === "X" }];
      });
    },
    killsForMemory: async () => Number((await question("memory")).split("\n")[0]) || 0,
    written: () => question("written"),
    mounts: async () => (await question("mounts")).split("\n"),
    close,
  };
}
