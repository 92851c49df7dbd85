// Entry of the model process: it holds the model, so that its crash is not the host's. Talks by the pipe it is given (messages.ts).
import { Socket } from "node:net";
import { LancelotError } from "../../contract/errors.ts";
import { readMessages, writeMessage } from "./json-lines.ts";
import { createEngine, type Engine } from "./engine.ts";
import { type FromModel, type Generate, type Load, ToModel } from "./model-protocol.ts";
import { openModel } from "./open-model.ts";
import { createTextSender } from "./text-sender.ts";

let engine: Engine | undefined;
let running: { id: number; abort: AbortController } | undefined;

const pipe = new Socket({ fd: 3 });

function send(message: FromModel): void {
  writeMessage(pipe, message);
}

async function load(message: Load): Promise<void> {
  try {
    const opened = await openModel(message);
    engine = await createEngine(opened, message);
    send({ type: "loaded", contextSize: engine.contextSize, gpuLayers: opened.model.gpuLayers, gpu: opened.gpu, memoryBytes: held() });
  } catch (error) {
    send({ type: "failed", id: null, code: "unavailable", message: wordsOf(error) });
  }
}

async function generate(request: Generate): Promise<void> {
  const { id } = request;
  const abort = new AbortController();
  running = { id, abort };
  const sender = createTextSender((text) => send({ type: "text", id, text }));
  try {
    if (engine === undefined) throw new Error("no model is loaded");
    const result = await engine.generate(request, abort.signal, sender.push);
    sender.end();
    send({ type: "done", id, ...result, memoryBytes: held() });
  } catch (error) {
    sender.end();
    if (error instanceof LancelotError) send({ type: "failed", id, ...error.toBody() });
    else send({ type: "failed", id, code: "internal", message: wordsOf(error) });
  } finally {
    running = undefined;
  }
}

function receive(message: ToModel): void {
  if (message.type === "load") void load(message);
  else if (message.type === "generate") void generate(message);
  else if (message.type === "ping") send({ type: "pong" });
  else if (running?.id === message.id) running.abort.abort();
}

/** Bytes this process holds, the model's pages among them. */
function held(): number {
  return process.memoryUsage.rss();
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

readMessages(
  pipe,
  (raw) => receive(ToModel.parse(raw)),
  () => process.exit(1),
);

// The host has gone, in whatever way: nobody is left to answer, and native code may be in the middle of a computation.
pipe.on("close", () => process.kill(process.pid, "SIGKILL"));
