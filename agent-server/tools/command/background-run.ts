import type { BackgroundCommand } from "../../contract/background.ts";
import type { CommandRun } from "../../contract/chat.ts";
import type { Result } from "../../execution/execution.ts";
import type { Answer, Scope } from "../tool.ts";
import type { BackgroundHooks, BackgroundReading, BackgroundRequest, BackgroundStart } from "./background-types.ts";
import { seconds } from "./command-question.ts";
import { plainTerminalText } from "./terminal-text.ts";

/** Starts a command in the background; one that has ended by itself meanwhile is answered like any other. */
export async function runInBackground(
  { call, commands, placeholders }: Scope,
  of: {
    readonly receiptId: string;
    readonly text: string;
    readonly waitMs: number;
    readonly updateCard: (update: Partial<CommandRun>) => void;
    readonly run: (hooks: BackgroundHooks) => ReturnType<BackgroundRequest["run"]>;
    /** The answer for a command that has ended. */
    readonly answer: (ended: BackgroundStart & { readonly done: NonNullable<BackgroundStart["done"]> }) => Result<Answer>;
    readonly outputs: Record<string, unknown>;
  },
): Promise<Result<Answer>> {
  const started = await commands.background.start({
    ...{ questId: call.quest, callId: call.callId ?? null, receiptId: of.receiptId, waitMs: of.waitMs, signal: call.signal, run: of.run },
    text: commands.redactor.text(of.text).text,
    redactor: placeholders?.secrets ?? commands.redactor,
    onText: (piece) => call.onOutput?.(piece),
  });
  const { output, done, running } = started;
  call.onUpdate?.({ live: output.live() });
  if (done !== null) return of.answer({ ...started, done });
  if (running === null) throw new Error("A command that has not ended runs.");
  of.updateCard({ background: { id: running.id } });
  const said = output.text().trimEnd();
  return {
    value: {
      kind: "answer",
      text: [
        `Running in the background as ${running.id}${portsText(running.ports)}.`,
        "[It keeps running until stop_command, or until this task ends. command_output returns what it prints from now on. Your other commands reach its ports on localhost.]",
        said === "" ? "[No output yet.]" : said,
      ].join("\n"),
      hint: "Read on with command_output.",
    },
    outputs: { background: { id: running.id, ports: running.ports }, ...of.outputs, output: said.slice(-4_000) },
    background: { program: running.program, onEnd: running.onEnd },
  };
}

/** What a background command does now, for the model. */
export function describeReading({ command, text, dropped }: BackgroundReading): string {
  const said = plainTerminalText(text).trimEnd();
  return [
    `${command.id}: ${stateText(command)}.`,
    ...(dropped > 0 ? [`[… ${dropped} characters omitted …]`] : []),
    said === "" ? "[No new output.]" : said,
  ].join("\n");
}

/** What a background command is doing, or how it ended. */
export function stateText({ end, ports, startedAt }: BackgroundCommand): string {
  if (end === null) return `running for ${seconds(Date.now() - Date.parse(startedAt))}${portsText(ports)}`;
  const reasons = {
    exit: `ended with exit code ${String(end.exitCode)}`,
    model: "stopped by stop_command",
    user: "stopped by the user",
    limit: "stopped at a limit; see its output",
    memory: "stopped at its memory limit",
    timeout: "stopped at its timeout",
    task: "stopped with its task",
    host: "stopped with Lancelot",
    lost: "ended for an unknown reason",
  } as const;
  return reasons[end.reason];
}

function portsText(ports: readonly number[]): string {
  return ports.length === 0 ? "" : `, listening on port ${ports.join(", ")} inside the sandbox`;
}
