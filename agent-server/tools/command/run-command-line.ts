import type { CommandRun } from "../../contract/chat.ts";
import { LancelotError } from "../../contract/errors.ts";
import type { CommandPlace, Containment } from "../../contract/providers.ts";
import { toProvider } from "../routing/provider-failover.ts";
import type { ToolProvider } from "../routing/capabilities.ts";
import { formatBytes } from "../../workspace/workspace.ts";
import type { EgressConnection, ShellResult } from "../../sandbox/sandbox.ts";
import { runInShell } from "./shell-run.ts";
import type { Answer, Effect, Scope } from "../tool.ts";
import type { Provider, Result } from "../../execution/execution.ts";
import type { Router } from "../routing/capability-router.ts";
import { runInBackground } from "./background-run.ts";
import { createCommandOutput } from "./command-output.ts";
import { visibleText } from "../../contract/visible-text.ts";
import { commandDetail, oneLine, placeName, seconds } from "./command-question.ts";

/** A command line from a tool call or the user's configuration. */
export interface CommandLine {
  readonly command: string;
  /** The requested folder and its resolved absolute path. */
  readonly cwd: { readonly display: string; readonly absolute: string };
  /** The requested timeout; the limit in the settings is the default and the maximum. */
  readonly timeoutMs?: number;
  /** Steps to authorize in addition to the command, such as a deployment. */
  readonly steps?: Effect["steps"];
  readonly title: string;
  /** The command keeps running after the call, which waits this long (ms) for its first output. */
  readonly background?: { readonly waitMs: number };
}

/** How long (ms) a background command may run unless it asks for less. */
const maxBackgroundMs = 86_400_000;

/**
 * Plans the run of a command line on the chosen provider: in a view of the task where it has one, else with the whole workspace watched.
 * @throws LancelotError `unavailable` with the next step when nothing can run it.
 */
export async function commandEffect(scope: Scope, line: CommandLine): Promise<Effect> {
  const { commands } = scope;
  const problem = commands.problem();
  if (problem !== null) throw new LancelotError("unavailable", problem);
  const { call } = scope;
  const limits = commands.limits();
  const inBackground = line.background !== undefined;
  const timeoutMs = inBackground ? (line.timeoutMs ?? maxBackgroundMs) : Math.min(line.timeoutMs ?? limits.timeoutMs, limits.timeoutMs);
  const needs = commands.network(line.command, line.cwd.absolute);
  const network = needs !== null;
  const profile = { network, unattended: call.askOwner === undefined, background: inBackground };
  const held = commands.viewSandbox(call.quest);
  const { provider: planned } = await commands.router.choose({
    ...{ capability: "shell_exec", action: "run", profile },
    ...(held === null ? {} : { only: held }),
  });
  const hosts = needs?.hosts ?? null;
  /** For the receipt: where it ran, and what of the network was open to it. */
  const surroundings = { workspace: scope.workspace, network: !network ? "off" : (hosts?.slice(0, maxHosts) ?? "allowlist") };
  const place = placeOf(planned);
  const containment = planned.containment?.() ?? "host";
  const { openView } = planned;
  const isInView = (containment === "transactional" || containment === "copied") && openView !== undefined;
  if (inBackground && !isInView)
    throw new LancelotError(
      "unavailable",
      "Commands run in the background only where the workspace is shown to them copy-on-write, which is not possible here. Start and use the server in one command line instead, for example: server & sleep 2; curl -s localhost:3000",
    );
  const updateCard = (update: Partial<CommandRun>): void =>
    call.onUpdate?.({
      command: {
        text: commands.redactor.text(visibleText(line.command)).text,
        cwd: line.cwd.display,
        place,
        containment,
        network,
        exitCode: null,
        ended: null,
        ...update,
      },
    });
  updateCard({});

  return {
    kind: "effect",
    // An approval covers whether the command runs in a sandbox, but not in which one.
    steps: [
      ...(line.steps ?? []),
      {
        capability: "shell_exec",
        action: "run",
        args: {
          command: line.command,
          ...(place === "host" ? { place } : {}),
          ...(isInView ? { containment } : {}),
          network: needs?.hosts ?? network,
        },
        cwd: line.cwd.absolute,
      },
    ],
    question: {
      title: line.title,
      detail: commandDetail({
        command: line.command,
        cwd: line.cwd.display,
        place,
        containment,
        network: needs,
        timeoutMs,
        background: inBackground,
      }),
    },
    touches: [],
    ...(isInView
      ? { inView: { openView, origin: oneLine(line.command), runsTests: commands.runsTests(line.command, line.cwd.absolute) } }
      : { watch: "workspace", needsReviewedFiles: true }),
    async run({ receiptId, view }) {
      const shell = {
        ...{ command: line.command, cwd: line.cwd.absolute, timeoutMs, network },
        ...(needs === null || needs.hosts === null ? {} : { hosts: needs.hosts }),
        ...(view === undefined ? {} : { view }),
      };
      const providerCall = { questId: call.quest, parentId: receiptId, planned, profile };
      const whyNoNetwork = commands.whyNoNetwork(line.command, line.cwd.absolute);
      if (line.background !== undefined)
        return runInBackground(scope, {
          ...{ receiptId, waitMs: line.background.waitMs, updateCard, text: visibleText(line.command) },
          run: (hooks) => runInShell(commands.runOnProvider, { ...shell, ...hooks }, { ...providerCall, signal: hooks.signal }),
          answer: ({ done, output, connections }) => {
            const ran = placeById(commands.router, done.provider) ?? place;
            updateCard({ place: ran, exitCode: done.value.exitCode, ended: done.value.ended });
            return answerOf(done.value, {
              ...{
                whyNoNetwork,
                text: output.text(),
                place: ran,
                containment,
                provider: done.provider,
                timeoutMs,
                connections,
                surroundings,
              },
              limits: { outputBytes: Number.MAX_SAFE_INTEGER },
            });
          },
          outputs: { place, containment, ...surroundings, provider: toProvider(planned) },
        });
      const connections: EgressConnection[] = [];
      const output = createCommandOutput({
        redactor: scope.placeholders?.secrets ?? commands.redactor,
        onText: (piece) => call.onOutput?.(piece),
      });
      try {
        const done = await runInShell(
          commands.runOnProvider,
          {
            ...shell,
            outputBytes: limits.outputBytes,
            onConnection: (connection) => void connections.push(connection),
            onOutput: output.add,
          },
          { ...providerCall, signal: call.signal },
        );
        output.end();
        const ran = placeById(commands.router, done.provider) ?? place;
        updateCard({ place: ran, exitCode: done.value.exitCode, ended: done.value.ended });
        if (done.value.ended === "stopped" && call.signal.aborted) throw new LancelotError("cancelled", "Stopped by the user.");
        return answerOf(done.value, {
          whyNoNetwork: ran === "host" ? null : whyNoNetwork,
          text: output.text(),
          place: ran,
          containment,
          provider: done.provider,
          timeoutMs,
          limits,
          connections,
          surroundings,
        });
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
    whyNoNetwork: string | null;
    text: string;
    place: CommandPlace;
    containment: Containment;
    provider: Provider;
    timeoutMs: number;
    limits: { outputBytes: number };
    connections: readonly EgressConnection[];
    surroundings: Record<string, unknown>;
  },
): Result<Answer> {
  const head = `${describeEnd(result, of.timeoutMs)}, after ${seconds(result.durationMs)} ${placeName(of.place)}.`;
  const notes = [
    ...(result.stillRunning === undefined
      ? []
      : [
          "[Its container engine stopped responding, so the command may still be running and changing files. No other command runs until it has ended. Its changes are recorded then, and can be undone with this task.]",
        ]),
    ...(result.killedOrphans ? ["[Its background processes were stopped.]"] : []),
    ...describeRefused(of.connections),
    ...(of.whyNoNetwork === null || (result.ended === "exit" && result.exitCode === 0) ? [] : [`[${of.whyNoNetwork}]`]),
    ...(result.outputBytes > of.limits.outputBytes
      ? [`[The output was ${formatBytes(result.outputBytes)}; everything after ${formatBytes(of.limits.outputBytes)} was dropped.]`]
      : []),
  ];
  const worked = result.ended === "exit" && result.exitCode === 0 && result.stillRunning === undefined;
  const text = of.text.trim() === "" ? "[No output.]" : of.text.trimEnd();
  return {
    value: {
      kind: "answer",
      text: [head, ...notes, text].join("\n"),
      isError: !worked,
      hint: "Run it on a smaller part, or filter its output.",
    },
    outputs: {
      exitCode: result.exitCode,
      ended: result.ended,
      place: of.place,
      containment: of.containment,
      ...of.surroundings,
      provider: of.provider,
      durationMs: Math.round(result.durationMs),
      outputBytes: result.outputBytes,
      output: of.text.slice(-4_000),
      ...(result.killedOrphans ? { leftovers: true } : {}),
      ...(result.stillRunning === undefined ? {} : { stillRunning: true }),
      ...(of.connections.length === 0
        ? {}
        : { connections: of.connections.slice(0, maxConnections), connectionsTotal: of.connections.length }),
    },
    ...(worked
      ? {}
      : { failure: `${describeEnd(result, of.timeoutMs)}${result.stillRunning === undefined ? "" : "; it may still be running"}` }),
    ...(result.stillRunning === undefined ? {} : { stillRunning: result.stillRunning }),
  };
}

/** Most connections and hosts on the receipt. */
const maxConnections = 50;
const maxHosts = 50;

/** The proxy's reasons for refused connections, because programs rarely report why a connection failed. */
function describeRefused(connections: readonly EgressConnection[]): string[] {
  const refused = new Map(connections.flatMap(({ host, reason }) => (reason === null ? [] : [[host, reason] as const])));
  return [...refused].slice(0, 10).map(([host, reason]) => `[Connection refused: ${host}. ${reason}]`);
}

/** How a command ended, without a period. */
function describeEnd({ ended, exitCode }: ShellResult, timeoutMs: number): string {
  switch (ended) {
    case "exit":
      return `Exit code ${String(exitCode)}`;
    case "timeout":
      return `Timed out after ${seconds(timeoutMs)}`;
    case "memory":
      return "Stopped for exceeding its memory or disk limit";
    case "lost":
      return "The sandbox stopped before the command ended, so its effects are unknown; it was not run again";
    case "stopped":
      return "Stopped by the sandbox; see its output for the reason";
  }
}

function placeOf(provider: ToolProvider): CommandPlace {
  if (provider.place === undefined) throw new LancelotError("internal", `${provider.id} cannot run commands.`);
  return provider.place;
}

function placeById(router: Router, ran: Provider): CommandPlace | null {
  const found = router.candidates({ capability: "shell_exec", action: "run" }).find((one) => toProvider(one).name === ran.name);
  return found?.place ?? null;
}
