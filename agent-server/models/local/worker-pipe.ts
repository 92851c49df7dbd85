// The worker's side of the protocol: runs in the child process.
import { Socket } from "node:net";
import type * as z from "zod";
import { LancelotError } from "../../contract/errors.ts";
import { readMessages, writeMessage } from "./json-lines.ts";
import {
  ControlRequest,
  type ControlReply,
  type LoadReply,
  type LoadRequest,
  type WorkerReply,
  type WorkerRequest,
} from "./worker-protocol.ts";

export interface WorkerHandlers<
  Load extends LoadRequest,
  Request extends WorkerRequest,
  Loaded extends LoadReply,
  Reply extends WorkerReply,
> {
  message: z.ZodType<Load | Request>;
  load(load: Load): Promise<Loaded>;
  /** Replies with `send`; the last reply is the result. @throws LancelotError, or Error of the library */
  handle(request: Request, signal: AbortSignal, send: (reply: Reply) => void): Promise<Reply>;
}

/** Serves the host over file descriptor 3, one request at a time. The process ends with the host or after an invalid message. */
export function serveWorker<Load extends LoadRequest, Request extends WorkerRequest, Loaded extends LoadReply, Reply extends WorkerReply>(
  handlers: WorkerHandlers<Load, Request, Loaded, Reply>,
): void {
  const pipe = new Socket({ fd: 3 });
  const running = new Map<number, AbortController>();
  const send = (message: Loaded | Reply | ControlReply): void => writeMessage(pipe, message);
  const isRequest = (message: Load | Request): message is Request => message.type !== "load";

  async function load(message: Load): Promise<void> {
    try {
      send(await handlers.load(message));
    } catch (error) {
      send({ type: "failed", id: null, code: "unavailable", message: messageOf(error) });
    }
  }

  async function handle(request: Request): Promise<void> {
    const { id } = request;
    const abort = new AbortController();
    running.set(id, abort);
    try {
      send(await handlers.handle(request, abort.signal, send));
    } catch (error) {
      if (error instanceof LancelotError) send({ type: "failed", id, ...error.toBody() });
      else send({ type: "failed", id, code: "internal", message: messageOf(error) });
    } finally {
      running.delete(id);
    }
  }

  function receive(raw: unknown): void {
    const control = ControlRequest.safeParse(raw);
    if (control.success) {
      if (control.data.type === "ping") send({ type: "pong" });
      else running.get(control.data.id)?.abort();
      return;
    }
    const message = handlers.message.parse(raw);
    if (isRequest(message)) void handle(message);
    else void load(message);
  }

  readMessages(pipe, receive, () => process.exit(1));
  // The host has ended: native code may be in the middle of a computation, so the process ends without cleanup.
  pipe.on("close", () => process.kill(process.pid, "SIGKILL"));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
