// Entry of the model process: it holds the model, so that its crash is not the host's. Talks by IPC only (messages.ts).
import { LancelotError } from "../../contract/errors.ts";
import { createEngine, type Engine } from "./engine.ts";
import { type FromModel, type Generate, type Load, ToModel } from "./messages.ts";

let engine: Engine | undefined;
let running: { id: number; abort: AbortController } | undefined;

function send(message: FromModel): void {
  if (process.connected) process.send?.(message);
}

async function load(message: Load): Promise<void> {
  try {
    engine = await createEngine(message);
    send({ type: "loaded", contextSize: engine.contextSize });
  } catch (error) {
    send({ type: "failed", id: null, code: "unavailable", message: wordsOf(error) });
  }
}

async function generate(request: Generate): Promise<void> {
  const { id } = request;
  const abort = new AbortController();
  running = { id, abort };
  try {
    if (engine === undefined) throw new Error("no model is loaded");
    const result = await engine.generate(request, abort.signal, (text) => send({ type: "text", id, text }));
    send({ type: "done", id, ...result });
  } catch (error) {
    if (error instanceof LancelotError) send({ type: "failed", id, ...error.toBody() });
    else send({ type: "failed", id, code: "internal", message: wordsOf(error) });
  } finally {
    running = undefined;
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

process.on("message", (raw) => {
  const message = ToModel.parse(raw);
  if (message.type === "load") void load(message);
  else if (message.type === "generate") void generate(message);
  else if (running?.id === message.id) running.abort.abort();
});

// The host has gone, in whatever way: nobody is left to answer, and native code may be in the middle of a computation.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
