import type { CommandRun } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { CommandPlace } from "../../contract/providers.ts";
import { tagOf } from "../routing/provider-failover.ts";
import type { ToolProvider } from "../routing/capabilities.ts";
import { formatBytes } from "../../workspace/workspace.ts";
import type { EgressConnection, ShellResult } from "../../sandbox/sandbox.ts";
import { runInShell } from "./shell-run.ts";
import type { Answer, Effect, Scope } from "../tool.ts";
import type { Provider } from "../../execution/execution.ts";
import type { Router } from "../routing/capability-router.ts";
import { createCommandOutput } from "./command-output.ts";
import { commandDetail, placeName, seconds, visibleCommand } from "./command-question.ts";

/** A command line to be run, as a tool or the owner's configuration gives it. */
export interface CommandLine {
  readonly command: string;
  /** Where it was asked to run, and where that is: absolute and resolved. */
  readonly cwd: { readonly display: string; readonly absolute: string };
  /** Asked for; the settings' when left out, and never more than those. */
  readonly timeoutMs?: number;
  /** The steps to be judged beside the command itself, such as the deployment it is. */
  readonly steps?: Effect["steps"];
  readonly title: string;
}

/**
 * Plans the run of a command line: chosen place, exact question, the whole workspace watched.
 * @throws LancelotError `unavailable` when no place can run it, with what to do.
 */
export async function commandEffect(scope: Scope, line: CommandLine): Promise<Effect> {
  const room = scope.commands;
  const problem = room.problem();
  if (problem !== null) throw new LancelotError("unavailable", problem);
  const { call } = scope;
  const limits = room.limits();
  const timeoutMs = Math.min(line.timeoutMs ?? limits.timeoutMs, limits.timeoutMs);
  const network = room.network(line.command, line.cwd.absolute);
  const profile = { network, unattended: call.askOwner === undefined };
  const { provider: planned } = await room.router.choose({ capability: "shell_exec", action: "run", profile });
  const place = placeOf(planned);
  const card = (news: Partial<CommandRun>): void =>
    call.onUpdate?.({
      command: {
        text: room.redactor.text(visibleCommand(line.command)).text,
        cwd: line.cwd.display,
        place,
        network,
        exitCode: null,
        ended: null,
        ...news,
      },
    });
  card({});

  return {
    kind: "effect",
    // Whether it is inside a sandbox is part of what is judged and approved; which sandbox is not.
    steps: [
      ...(line.steps ?? []),
      {
        capability: "shell_exec",
        action: "run",
        args: { command: line.command, ...(place === "host" ? { place } : {}), network },
        cwd: line.cwd.absolute,
      },
    ],
    question: {
      title: line.title,
      detail: commandDetail({ command: line.command, cwd: line.cwd.display, place, network, timeoutMs }),
    },
    touches: [],
    watch: "workspace",
    onDisk: true,
    async run({ receiptId }) {
      const connections: EgressConnection[] = [];
      const output = createCommandOutput({
        redactor: scope.placeholders?.secrets ?? room.redactor,
        onText: (piece) => call.onOutput?.(piece),
      });
      try {
        const done = await runInShell(
          room.attempt,
          {
            command: line.command,
            cwd: line.cwd.absolute,
            timeoutMs,
            outputBytes: limits.outputBytes,
            network,
            onConnection: (connection) => void connections.push(connection),
            onOutput: output.add,
          },
          { questId: call.quest, parentId: receiptId, signal: call.signal, planned, profile },
        );
        output.end();
        const ran = placeById(room.router, done.provider) ?? place;
        card({ place: ran, exitCode: done.value.exitCode, ended: done.value.ended });
        if (done.value.ended === "stopped" && call.signal.aborted) throw new LancelotError("cancelled", "Stopped by the owner.");
        return answerOf(done.value, { text: output.text(), place: ran, provider: done.provider, timeoutMs, limits, connections });
      } finally {
        output.end();
        call.onUpdate?.({ live: output.live() });
      }
    },
  };
}

function answerOf(
  result: ShellResult,
  of: {
    text: string;
    place: CommandPlace;
    provider: Provider;
    timeoutMs: number;
    limits: { outputBytes: number };
    connections: readonly EgressConnection[];
  },
): { value: Answer; outputs: Record<string, unknown>; failure?: string } {
  const head = `${endWords(result, of.timeoutMs)}, after ${seconds(result.durationMs)} ${placeName(of.place)}.`;
  const notes = [
    ...(result.killedOrphans ? ["[It left processes running; they were ended with it.]"] : []),
    ...refusedWords(of.connections),
    ...(result.outputBytes > of.limits.outputBytes
      ? [`[It printed ${formatBytes(result.outputBytes)}; what came after ${formatBytes(of.limits.outputBytes)} was thrown away.]`]
      : []),
  ];
  const worked = result.ended === "exit" && result.exitCode === 0;
  const text = of.text.trim() === "" ? "[No output.]" : of.text.replace(/\s+$/, "");
  return {
    value: {
      kind: "answer",
      text: [head, ...notes, text].join("\n"),
      isError: !worked,
      hint: "Run it on a smaller part, or filter what it prints.",
    },
    outputs: {
      exitCode: result.exitCode,
      ended: result.ended,
      place: of.place,
      provider: of.provider,
      durationMs: Math.round(result.durationMs),
      outputBytes: result.outputBytes,
      output: of.text.slice(-4_000),
      ...(result.killedOrphans ? { leftovers: true } : {}),
      ...(of.connections.length === 0
        ? {}
        : { connections: of.connections.slice(0, maxConnections), connectionsTotal: of.connections.length }),
    },
    ...(worked ? {} : { failure: endWords(result, of.timeoutMs) }),
  };
}

/** Connections that are named on the receipt. */
const maxConnections = 50;

/** Programs seldom say why a connection failed; the proxy does. */
function refusedWords(connections: readonly EgressConnection[]): string[] {
  const refused = new Map(connections.flatMap(({ host, reason }) => (reason === null ? [] : [[host, reason] as const])));
  return [...refused].slice(0, 10).map(([host, reason]) => `[Not reached: ${host}. ${reason}]`);
}

/** How a command ended, without a full stop. */
function endWords({ ended, exitCode }: ShellResult, timeoutMs: number): string {
  switch (ended) {
    case "exit":
      return `Exit code ${String(exitCode)}`;
    case "timeout":
      return `Ended for taking longer than ${seconds(timeoutMs)}`;
    case "memory":
      return "Ended for using more memory or disk than it may";
    case "lost":
      return "What ran it went away before its end, so what it did is not known; it was not run again";
    case "stopped":
      return "Ended by the sandbox for what it did; its output says why";
  }
}

function placeOf(provider: ToolProvider): CommandPlace {
  if (provider.place === undefined) throw new LancelotError("internal", `${provider.id} is no place for commands.`);
  return provider.place;
}

function placeById(router: Router, ran: Provider): CommandPlace | null {
  const found = router.candidates({ capability: "shell_exec", action: "run" }).find((one) => tagOf(one).name === ran.name);
  return found?.place ?? null;
}
