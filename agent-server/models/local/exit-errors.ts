import { LancelotError } from "../../contract/errors.ts";
import type { Ending } from "./model-child.ts";

const again = "The next request starts it again.";
const lessMemory =
  "If that happens again, close other programs, or choose a smaller model (local.model) or context (local.context) in config/models.yaml.";

/** How a process ended, in words for the owner; `data.next` is what to do. Retryable: the next request starts it anew. */
export function endingError(ending: Ending, retryAfterMs: number): LancelotError {
  const [what, next] = wordsOf(ending);
  const data = ending.why === "unloaded" ? { next } : { retryable: true, retryAfterMs, next };
  return new LancelotError("unavailable", `${what} ${next}`, { data, cause: ending.lastWords });
}

/** Why the library could not load the model, in words for the owner; `data.next` is what to do. */
export function loadError(message: string): LancelotError {
  const short = /memory|vram|too large|alloc/i.test(message);
  const next = short
    ? "Close other programs, or choose a smaller model (local.model) or context (local.context) in config/models.yaml."
    : "Download it again, or name another file as local.model in config/models.yaml.";
  return new LancelotError("unavailable", `The local model could not be loaded: ${message.replace(/[.\s]*$/, ".")} ${next}`, {
    data: { next },
  });
}

function wordsOf({ why, code, signal, failure }: Ending): [string, string] {
  if (why === "unloaded") return ["The local model was unloaded while it worked.", "Ask again: the next request loads it."];
  if (why === "hung") return ["The local model's process did not answer any more and was ended.", again];
  if (why === "garbage") return ["The local model's process sent what is no answer and was ended.", again];
  if (failure !== null)
    return [
      `The local model's process could not be started (${failure}).`,
      "Close other programs, or restart the machine, then ask again.",
    ];
  const how = signal === null ? `code ${code}` : signal;
  const ended = `The local model's process ended unexpectedly (${how}).`;
  if (signal === "SIGKILL") return [`${ended} Systems do that when memory runs out.`, `${again} ${lessMemory}`];
  if (signal === "SIGBUS") return [`${ended} Its file changed or could not be read while it was in use.`, again];
  if (signal === "SIGILL")
    return [`${ended} This processor lacks what the runtime needs.`, "Use a model server such as Ollama, or a provider with a key."];
  if (signal === "SIGABRT" || signal === "SIGTRAP" || code === 134 || code === 133)
    return [`${ended} That is mostly for want of memory.`, `${again} ${lessMemory}`];
  return [ended, again];
}
