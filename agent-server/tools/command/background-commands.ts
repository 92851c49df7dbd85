import { randomBytes } from "node:crypto";
import type { BackgroundCommand } from "../../contract/background.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { Emit } from "../../contract/events.ts";
import type { ExecutionPipeline } from "../../execution/execution.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { BackgroundProcess, EgressConnection, ShellResult } from "../../sandbox/sandbox.ts";
import type { Log } from "../../security/security.ts";
import { type TaskOutcome, taskOutputs } from "../../workspace/workspace.ts";
import type { ProviderResult } from "../routing/provider-failover.ts";
import { type CommandOutput, createCommandOutput } from "./command-output.ts";
import { createBackgroundEnds } from "./background-ends.ts";
import type { BackgroundCommands, BackgroundRequest, BackgroundStart, StoppedBy } from "./background-types.ts";
import { createPortPreview, type PortPreview } from "./port-preview.ts";

/** Commands of one task, and of all tasks, that run at the same time. */
const maxPerTask = 4;
const maxRunning = 12;
/** Ended commands whose output can still be read. */
const maxEnded = 20;
/** A command that printed nothing for this long (ms) counts as started. */
const quietMs = 2_000;
/** How often (ms) ports are looked for: at the start, and later. */
const startPortMs = 100;
const laterPortMs = 2_000;
/** Redaction costs processor time, so a command that prints more than this waits. */
const bytesPerSecond = 1_000_000;
/** Units of the output on the receipt of the end. */
const receiptUnits = 4_000;

type EndReason = NonNullable<BackgroundCommand["end"]>["reason"];
interface Entry {
  readonly command: BackgroundCommand;
  readonly output: CommandOutput;
  readonly process: BackgroundProcess;
  readonly stop: AbortController;
  /** Resolves when its end is recorded. */
  readonly recorded: PromiseWithResolvers<void>;
  readonly timer: NodeJS.Timeout;
  readonly previews: Map<number, PortPreview>;
  readonly waiting: Set<() => void>;
  stoppedBy: StoppedBy | null;
  /** Units of its output that the model has read. */
  cursor: number;
}

export function createBackgroundCommands(deps: {
  readonly ledger: Pick<Ledger, "record">;
  readonly pipeline: Pick<ExecutionPipeline, "execute">;
  readonly emit: Emit;
  readonly now: () => Date;
  readonly log: Log;
}): BackgroundCommands {
  const { ledger, emit } = deps;
  const entries = new Map<string, Entry>();
  const ends = createBackgroundEnds();
  let starting = 0;

  const running = (): Entry[] => [...entries.values()].filter(({ command }) => command.end === null);
  const tell = ({ command }: Entry): void => emit("backgroundCommand", command);

  function entryOf(id: string, questId?: string | null): Entry {
    const entry = entries.get(id);
    if (entry !== undefined && (questId === undefined || entry.command.questId === questId)) return entry;
    const known = [...entries.values()].filter(({ command }) => command.questId === questId).map(({ command }) => command.id);
    throw new LancelotError(
      "not_found",
      `There is no background command ${id}. ${known.length === 0 ? "None was started in this task, or Lancelot was restarted, which ends them." : `Known: ${known.join(", ")}.`}`,
    );
  }

  function lookForPorts(entry: Entry): void {
    const ports = entry.process.ports().map(({ port }) => port);
    if (ports.join() === entry.command.ports.join()) return;
    entry.command.ports = ports;
    tell(entry);
  }

  function recordEnd(
    entry: Entry,
    result: ShellResult | null,
    connections: readonly EgressConnection[],
    outcome: TaskOutcome | null,
  ): void {
    const { command, output } = entry;
    clearInterval(entry.timer);
    for (const preview of entry.previews.values()) preview.close();
    const reason = reasonOf(entry, result);
    const exitCode = result?.exitCode ?? null;
    command.end = { reason, exitCode, at: deps.now().toISOString() };
    command.ports = [];
    ends.add(command, output.text());
    const isGood = exitCode === 0 || entry.stoppedBy !== null;
    try {
      ledger.record(
        {
          actionType: "system",
          actionName: "command_end",
          inputs: { title: command.text, id: command.id },
          riskTier: "T0",
          parentId: command.receiptId,
          questId: command.questId,
        },
        {
          status: exitCode === 0 ? "success" : isGood ? "cancelled" : "failure",
          ...(isGood
            ? {}
            : { errorMessage: `The background command ended: ${reason}${exitCode === null ? "" : `, exit code ${exitCode}`}` }),
          durationMs: Math.round(result?.durationMs ?? 0),
          outputs: {
            ...{ reason, exitCode, outputBytes: result?.outputBytes ?? 0, output: output.text().slice(-receiptUnits) },
            ...(connections.length === 0 ? {} : { connections: connections.slice(0, 50), connectionsTotal: connections.length }),
            ...(outcome === null ? {} : taskOutputs(outcome)),
          },
        },
      );
    } finally {
      emit("backgroundCommand", { ...command, live: output.live() });
      entry.recorded.resolve();
      for (const wake of entry.waiting) wake();
      const ended = [...entries.values()].filter((one) => one.command.end !== null);
      for (const old of ended.slice(0, -maxEnded)) entries.delete(old.command.id);
    }
  }

  async function start(request: BackgroundRequest): Promise<BackgroundStart> {
    const own = running().filter(({ command }) => command.questId === request.questId);
    if (own.length >= maxPerTask || running().length + starting >= maxRunning)
      throw new LancelotError(
        "conflict",
        `Too many commands run in the background (${[...(own.length > 0 ? own : running())].map(({ command }) => command.id).join(", ")}). Stop one with stop_command.`,
      );
    starting += 1;
    try {
      return await startOne(request);
    } finally {
      starting -= 1;
    }
  }

  async function startOne(request: BackgroundRequest): Promise<BackgroundStart> {
    const { questId, callId, receiptId, signal } = request;
    const id = `bg-${randomBytes(4).toString("hex")}`;
    const stop = new AbortController();
    const connections: EgressConnection[] = [];
    const state = { entry: null as Entry | null, lastOutput: performance.now() };
    const output = createCommandOutput({
      redactor: request.redactor,
      onText(piece) {
        if (state.entry === null) return request.onText(piece);
        emit("backgroundOutput", { id, questId, callId, ...piece });
        for (const wake of state.entry.waiting) wake();
      },
    });
    const begun = Promise.withResolvers<BackgroundProcess>();
    const abort = (): void => stop.abort();
    signal.addEventListener("abort", abort);
    const ending = request
      .run({
        signal: stop.signal,
        bytesPerSecond,
        outputBytes: Number.MAX_SAFE_INTEGER,
        onBackground: begun.resolve,
        onConnection: (connection) => void connections.push(connection),
        onOutput(stream, bytes) {
          state.lastOutput = performance.now();
          output.add(stream, bytes);
        },
      })
      .finally(() => output.end());
    try {
      const first = await Promise.race([begun.promise.then((process) => ({ process })), ending.then((done) => ({ done }))]);
      if ("done" in first) return { output, connections, done: first.done, running: null };
      const { process } = first;
      const done = await untilStarted(process, ending, state, request);
      if (signal.aborted) {
        await ending.catch(() => undefined);
        throw new LancelotError("cancelled", "Stopped by the user.");
      }
      if (done !== null) return { output, connections, done, running: null };
      const entry: Entry = {
        command: {
          ...{ id, questId, callId, receiptId, text: request.text },
          startedAt: deps.now().toISOString(),
          ports: process.ports().map(({ port }) => port),
          end: null,
        },
        ...{ output, process, stop, stoppedBy: null, previews: new Map(), waiting: new Set() },
        recorded: Promise.withResolvers<void>(),
        timer: setInterval(() => lookForPorts(entry), laterPortMs).unref(),
        cursor: endOf(output),
      };
      entries.set(id, entry);
      state.entry = entry;
      tell(entry);
      let result: ShellResult | null = null;
      const ended = ending.then(
        ({ value }) => void (result = value),
        (error: unknown) => deps.log("a background command ended with an error", error),
      );
      return {
        ...{ output, connections },
        done: null,
        running: {
          ...{ id, ports: entry.command.ports },
          program: { ended, pause: () => process.pause(), stop: () => abortEntry(entry, "task") },
          onEnd: (outcome) => recordEnd(entry, result, connections, outcome),
        },
      };
    } catch (error) {
      stop.abort();
      await ending.catch(() => undefined);
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  function abortEntry(entry: Entry, by: StoppedBy): void {
    if (entry.command.end === null) entry.stoppedBy ??= by;
    entry.stop.abort();
  }

  async function stop(id: string, by: StoppedBy): Promise<BackgroundCommand> {
    const entry = entryOf(id);
    abortEntry(entry, by);
    await entry.recorded.promise;
    return { ...entry.command, live: entry.output.live() };
  }

  return {
    start,
    stop,

    async read({ id, questId, waitMs, signal }) {
      const entry = entryOf(id, questId);
      if (entry.command.end === null && endOf(entry.output) <= entry.cursor && waitMs > 0) await untilNews(entry, waitMs, signal);
      if (entry.command.end === null) lookForPorts(entry);
      else ends.known(id);
      const { text, skipped } = entry.output.live();
      const from = Math.max(entry.cursor, skipped);
      const dropped = from - entry.cursor;
      entry.cursor = skipped + text.length;
      return { command: entry.command, text: text.slice(from - skipped), dropped };
    },

    list: (questId) =>
      [...entries.values()]
        .filter(({ command }) => questId === undefined || command.questId === questId)
        .map(({ command, output }) => ({ ...command, live: output.live() })),

    takeEnds: ends.take,

    async preview(id, port) {
      const entry = entryOf(id);
      const found = entry.process.ports().find((one) => one.port === port);
      if (entry.command.end !== null || found === undefined)
        throw new LancelotError("unavailable", `The command does not listen on port ${port} any more.`);
      const title = `Preview port ${port}`;
      const { value } = await deps.pipeline.execute({
        ...{ quest: entry.command.questId, parent: entry.command.receiptId, actor: "owner", mode: "normal" },
        signal: entry.stop.signal,
        actionType: "user_interaction",
        actionName: "background.preview",
        inputs: { title, id, port },
        steps: [{ capability: "shell_exec", action: "preview", args: { id, port } }],
        question: { title, detail: `Open port ${port} of the background command ${id} on this machine.` },
        consent: "review",
        touches: [],
        provider: { name: "background", version: "1" },
        async run() {
          const preview = entry.previews.get(port) ?? (await createPortPreview((client) => entry.process.forward(found, client)));
          if (entry.command.end !== null) {
            preview.close();
            throw new LancelotError("unavailable", "The command has ended.");
          }
          entry.previews.set(port, preview);
          return { value: { url: preview.url }, outputs: { url: preview.url } };
        },
      });
      return value;
    },

    async close() {
      await Promise.all(running().map(({ command }) => stop(command.id, "host")));
    },
  };
}

/** Waits until the command listens, is quiet, has ended or took too long. @returns how it ended; null when it runs */
async function untilStarted(
  process: BackgroundProcess,
  ending: Promise<ProviderResult<ShellResult>>,
  state: { readonly lastOutput: number },
  { waitMs, signal }: Pick<BackgroundRequest, "waitMs" | "signal">,
): Promise<ProviderResult<ShellResult> | null> {
  const deadline = performance.now() + waitMs;
  let hasPort = false;
  for (;;) {
    const done = await Promise.race([ending, new Promise<null>((resolve) => setTimeout(() => resolve(null), startPortMs))]);
    if (done !== null) return done;
    const now = performance.now();
    // After the first port, one more look: a server reports its address right after it listens.
    if (signal.aborted || hasPort || now > deadline || now - state.lastOutput > quietMs) return null;
    hasPort = process.ports().length > 0;
  }
}

async function untilNews({ waiting }: Entry, waitMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  waiting.add(resolve);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
  waiting.delete(resolve);
  if (signal.aborted) throw new LancelotError("cancelled", "Stopped while waiting for output. The command keeps running.");
}

function endOf(output: CommandOutput): number {
  const { text, skipped } = output.live();
  return skipped + text.length;
}

function reasonOf({ stoppedBy }: Entry, result: ShellResult | null): EndReason {
  if (result === null) return stoppedBy ?? "lost";
  switch (result.ended) {
    case "exit":
    case "timeout":
    case "memory":
    case "lost":
      return result.ended;
    case "stopped":
      return stoppedBy ?? "limit";
  }
}
