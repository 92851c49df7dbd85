import { spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { LancelotError } from "../../contract/errors.ts";
import { readMessages, writeMessage } from "./json-lines.ts";
import { FromEmbedding, type ToEmbedding } from "./embedding-protocol.ts";
import { childEnv } from "./model-child.ts";

export interface Embedded {
  /** Of length one. */
  vector: Float32Array;
  tokens: number;
}

/** A running embedding process. */
export interface EmbeddingChild {
  readonly pid: number | undefined;
  /** Settles when it has ended. `itself`: nobody here ended it. */
  readonly ended: Promise<{ itself: boolean }>;
  /** Waits until the model is loaded. @throws LancelotError when it cannot be, or the process ends. */
  embed(text: string): Promise<Embedded>;
  isLoaded(): boolean;
  kill(): void;
}

/** Starts the process and loads the model. */
export function startEmbeddingChild(
  entry: string,
  env: Readonly<Record<string, string | undefined>>,
  load: Omit<Extract<ToEmbedding, { type: "load" }>, "type">,
): EmbeddingChild {
  const waiting = new Map<number, PromiseWithResolvers<Embedded>>();
  const loaded = Promise.withResolvers<void>();
  loaded.promise.catch(() => undefined);
  let nextId = 1;
  let wasKilled = false;
  let isLoaded = false;
  const child = spawn(process.execPath, [entry], {
    env: childEnv(env),
    stdio: ["ignore", "ignore", "ignore", "overlapped"],
    windowsHide: true,
  });
  const pipe = child.stdio[3] instanceof Duplex ? child.stdio[3] : undefined;
  const kill = () => {
    wasKilled = true;
    child.kill("SIGKILL");
  };
  const send = (message: ToEmbedding) => {
    if (pipe !== undefined) writeMessage(pipe, message);
  };

  function receive(raw: unknown): void {
    const parsed = FromEmbedding.safeParse(raw);
    // What sends nonsense has gone wrong: it counts as a crash.
    if (!parsed.success) return void child.kill("SIGKILL");
    const message = parsed.data;
    if (message.type === "loaded") {
      isLoaded = true;
      loaded.resolve();
    } else if (message.type === "vector") {
      const { buffer, byteOffset, byteLength } = Uint8Array.from(Buffer.from(message.vector, "base64"));
      waiting.get(message.id)?.resolve({ vector: new Float32Array(buffer, byteOffset, byteLength / 4), tokens: message.tokens });
    } else {
      const error = new LancelotError("unavailable", `The intent lane failed: ${message.message}.`);
      if (message.id === null) {
        loaded.reject(error);
        child.kill("SIGKILL");
      } else waiting.get(message.id)?.reject(error);
    }
  }

  if (pipe !== undefined) readMessages(pipe, receive, () => void child.kill("SIGKILL"));
  const ended = new Promise<{ itself: boolean }>((resolve) => {
    const end = () => {
      pipe?.destroy();
      const error = new LancelotError("unavailable", "The intent lane's process ended unexpectedly. A later request starts it again.");
      loaded.reject(error);
      for (const one of waiting.values()) one.reject(error);
      resolve({ itself: !wasKilled });
    };
    child.once("exit", end);
    child.once("error", () => child.pid === undefined && end());
  });
  send({ type: "load", ...load });

  return {
    pid: child.pid,
    ended,
    isLoaded: () => isLoaded,
    kill,
    async embed(text) {
      await loaded.promise;
      const id = nextId++;
      const answer = Promise.withResolvers<Embedded>();
      waiting.set(id, answer);
      send({ type: "embed", id, text });
      try {
        return await answer.promise;
      } finally {
        waiting.delete(id);
      }
    },
  };
}
