import { noUsage } from "../../../agent-server/contract/chat.ts";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type {
  ActiveModel,
  AssistantContent,
  CallTask,
  ModelEvent,
  ModelRequest,
  Models,
  Route,
  StopReason,
} from "../../../agent-server/models/models.ts";

/** One answer of the scripted model: the events for a request. */
export type Answer = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent> | Iterable<ModelEvent>;

const usage = { ...noUsage(), inputTokens: 10, outputTokens: 5 };

export function done(content: AssistantContent[], stop: StopReason, more: Partial<Extract<ModelEvent, { type: "done" }>> = {}): ModelEvent {
  return { type: "done", content, malformed: [], stop, usage, ...more };
}

/** Streams text in pieces and ends the turn. */
export function says(text: string, stop: StopReason = "end"): Answer {
  return () => [...pieces(text), done([{ type: "text", text }], stop)];
}

/** Streams text, then makes tool calls with unique ids. */
let made = 0;
export function calls(...wanted: [name: string, args: Record<string, unknown>][]): Answer {
  return () => {
    const content = wanted.map(([name, args]): AssistantContent => ({ type: "tool_call", id: `call-${String((made += 1))}`, name, args }));
    return [{ type: "text", text: "Let me look." }, done([{ type: "text", text: "Let me look." }, ...content], "tool_calls")];
  };
}

export function fails(error: unknown, before: ModelEvent[] = []): Answer {
  return async function* () {
    yield* before;
    throw error;
  };
}

/** Streams text, then hangs until it is aborted. */
export function hangs(text: string, onHang: () => void): Answer {
  return async function* (_request, signal) {
    yield { type: "text", text };
    onHang();
    await new Promise<never>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new LancelotError("cancelled", "Stopped.")), { once: true });
    });
  };
}

function pieces(text: string): ModelEvent[] {
  return (text.match(/\s*\S+/g) ?? []).map((piece) => ({ type: "text", text: piece }));
}

const bigModel: ActiveModel = {
  provider: "test",
  kind: "openai",
  model: "scripted",
  displayName: "Scripted",
  contextWindow: 128_000,
  small: false,
};

/** Models that answer from a script in order and record their requests. */
export function scriptedModels(script: Answer[], active: Partial<ActiveModel> | LancelotError = {}) {
  const requests: ModelRequest[] = [];
  const tasks: CallTask[] = [];
  const state = { active };
  const current = (): Promise<ActiveModel> =>
    state.active instanceof LancelotError ? Promise.reject(state.active) : Promise.resolve({ ...bigModel, ...state.active });
  const models: Pick<Models, "active" | "stream" | "routes" | "checkOverride" | "release"> = {
    release: () => Promise.resolve(),
    active: current,
    routes: () => ({
      async next(task): Promise<Route> {
        tasks.push(task);
        const model = await current();
        const why = { rule: "default", rationale: "The script says so.", alternatives: [], notice: null, tried: [], decidedMs: 0 } as const;
        return { task, lane: "flagship_fast", model, ...why, alternatives: [] };
      },
      async failover(error) {
        throw error;
      },
      escalate: () => Promise.resolve(null),
      isRerouted: () => false,
    }),
    checkOverride: () => Promise.resolve(),
    async *stream(request, { signal }) {
      requests.push(structuredClone(request));
      signal.throwIfAborted();
      const next = script.shift();
      if (next === undefined) throw new LancelotError("internal", "The script of the model is over.");
      yield* next(request, signal);
    },
  };
  return { models: models as Models, requests, tasks, script, state };
}
