import { trimEnd } from "../../contract/trim-end.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { WorkerExit } from "./worker-child.ts";

const restarts = "The next request restarts it.";
const lessMemory =
  "If it happens again, close other programs, or choose a smaller model (local.model) or context (local.context) in config/models.yaml.";

/** The user's error for a process that ended: `data.reason` says how, `data.next` what to do. Retryable: the next request restarts it. */
export function exitError(exit: WorkerExit, retryAfterMs: number): LancelotError {
  const { reason, problem, next } = describe(exit);
  const data = exit.why === "unloaded" ? { reason, next } : { reason, retryable: true, retryAfterMs, next };
  return new LancelotError("unavailable", `${problem} ${next}`, { data, cause: exit.stderr });
}

/** The user's error for a model that the library could not load; `data.next` is the next step. */
export function loadError(message: string): LancelotError {
  const lacksMemory = /memory|vram|too large|alloc/i.test(message);
  const next = lacksMemory
    ? "Close other programs, or choose a smaller model (local.model) or context (local.context) in config/models.yaml."
    : "Download it again, or set local.model in config/models.yaml to another file.";
  return new LancelotError("unavailable", `The local model could not be loaded: ${trimEnd(message, ". \n")}. ${next}`, {
    data: { next },
  });
}

interface Description {
  reason: string;
  problem: string;
  next: string;
}

function describe({ why, code, signal, spawnError }: WorkerExit): Description {
  const next = restarts;
  if (why === "unloaded")
    return { reason: why, problem: "The local model was unloaded during the request.", next: "Try again: the next request loads it." };
  if (why === "hung") return { reason: why, problem: "The local model's process stopped responding and was ended.", next };
  if (why === "invalid_output") return { reason: why, problem: "The local model's process sent invalid output and was ended.", next };
  if (spawnError !== null)
    return {
      reason: "start_failed",
      problem: `The local model's process could not be started (${spawnError}).`,
      next: "Close other programs or restart the machine, then try again.",
    };
  const ended = `The local model's process ended unexpectedly (${signal ?? `code ${code}`}).`;
  if (signal === "SIGBUS")
    return { reason: "file_changed", problem: `${ended} Its file changed or became unreadable while it was in use.`, next };
  if (signal === "SIGILL")
    return {
      reason: "unsupported_processor",
      problem: `${ended} The runtime does not support this processor.`,
      next: "Use a model server such as Ollama, or a provider with an API key.",
    };
  if (signal === "SIGKILL" || signal === "SIGABRT" || signal === "SIGTRAP" || code === 134 || code === 133)
    return { reason: "out_of_memory", problem: `${ended} The system may be out of memory.`, next: `${next} ${lessMemory}` };
  return { reason: "crashed", problem: ended, next };
}
