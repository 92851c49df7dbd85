import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import type { CommandRun, ToolPart } from "../../agent-server/contract/chat.ts";
import type { CommandPlace } from "../../agent-server/contract/providers.ts";
import { commandAction } from "../shared/commands.ts";
import { containmentText } from "../shared/containment.ts";
import { Button, Icon } from "../shared/components.tsx";
import { ExactText } from "../shared/exact-text.tsx";
import { formatDuration, t } from "../shared/l10n.ts";
import type { Target } from "../shared/terminal/links.ts";
import { TerminalOutput, TerminalTail } from "../shared/terminal/output.tsx";
import { backgroundOf, isRunning } from "./background-card.tsx";
import type { Chat } from "./chat-state.ts";

/** Lines of output that a closed card shows while its command runs. */
const tailLines = 3;

/** Describes where a command runs. */
export function placeText(place: CommandPlace): string {
  switch (place) {
    case "container":
      return t("in the container");
    case "os_sandbox":
      return t("in the OS sandbox");
    case "host":
      return t("on this machine without a sandbox");
  }
}

/** Describes how a command ended; null while it runs. */
export function endText({ ended, exitCode }: Pick<CommandRun, "ended" | "exitCode">): string | null {
  switch (ended) {
    case null:
      return null;
    case "exit":
      return t("Exit code {0}", exitCode ?? "?");
    case "timeout":
      return t("Timed out");
    case "stopped":
      return t("Stopped by you");
    case "memory":
      return t("Stopped at the memory or disk limit");
    case "lost":
      return t("Connection to the command lost");
  }
}

/** Shows how the command ended beside the card's title and announces it to a screen reader. */
export function CommandEnd({ command, status }: { command: CommandRun; status: ToolPart["status"] }): JSX.Element {
  // The card of a stopped task shows the stop before the command itself reports it.
  const text = endText(command) ?? (status === "cancelled" ? endText({ ended: "stopped", exitCode: null }) : null);
  const good = command.ended === "exit" && command.exitCode === 0;
  return (
    <span role="status" class="command-end">
      {text !== null && <span class={`badge ${good ? "verdict-allow" : "verdict-deny"}`}>{text}</span>}
    </span>
  );
}

/** Shows the last output lines below a closed card while the command runs. */
export function CommandTail({ part, chat }: { part: ToolPart; chat: Chat }): JSX.Element | null {
  return part.status === "running" || isRunning(backgroundOf(part, chat)) ? (
    <TerminalTail output={chat.outputs.of(part)} max={tailLines} />
  ) : null;
}

function openTarget(chat: Chat, target: Target, cwd: string): void {
  if (target.kind === "url") chat.bridge.ui(commandAction("openLink", { url: target.url }));
  else
    chat.bridge.ui(
      commandAction("openAt", {
        ...{ path: target.path, cwd, line: String(target.line) },
        ...(target.column === null ? {} : { column: String(target.column) }),
      }),
    );
}

/** What a command can reach. On the machine itself nothing limits it. */
function networkText({ place, network }: CommandRun): string {
  if (place === "host") return t("Network: not limited");
  return network ? t("Network: hosts on your allowlist") : t("Network: none");
}

/** The open card of a command: its exact text, location, output and actions. */
export function CommandBody({ part, command, chat }: { part: ToolPart; command: CommandRun; chat: Chat }): JSX.Element {
  const output = chat.outputs.of(part);
  const running = part.status === "running" || isRunning(backgroundOf(part, chat));
  const { cwd } = command;
  const open = useCallback((target: Target) => openTarget(chat, target, cwd), [chat, cwd]);
  const questId = chat.conversation.questId.value;
  return (
    <>
      <ExactText text={command.text} label={t("Command")} />
      <ul class="command-facts">
        {command.place !== null && (
          <li>
            <Icon name={command.place === "host" ? "warning" : "vm"} />
            {running ? t("Runs {0}", placeText(command.place)) : t("Ran {0}", placeText(command.place))}
          </li>
        )}
        {command.containment !== undefined && (
          <li data-testid={`containment:${command.containment}`}>
            <Icon name={command.containment === "host" ? "warning" : "shield"} />
            {containmentText(command.containment)}
          </li>
        )}
        <li>
          <Icon name="folder" />
          {cwd === "." ? t("In the workspace") : t("In {0}", cwd)}
        </li>
        <li>
          <Icon name={command.place === "host" ? "warning" : command.network ? "globe" : "circle-slash"} />
          {networkText(command)}
        </li>
        {part.durationMs !== null && (
          <li>
            <Icon name="clock" />
            {formatDuration(part.durationMs)}
          </li>
        )}
      </ul>
      <TerminalOutput output={output} running={running} label={t("Output")} open={open} />
      <div class="actions command-actions">
        {part.status === "running" && (
          <Button testId="stop" icon="debug-stop" title={t("Stops this command and its task")} onClick={chat.stop}>
            {t("Stop")}
          </Button>
        )}
        <Button
          testId="copy-output"
          kind="link"
          icon="copy"
          onClick={() => {
            // Reads the screen directly, because the last output may not be drawn yet.
            chat.bridge.ui({ action: "copy", text: chat.outputs.of(part).screen.text() });
          }}
        >
          {t("Copy Output")}
        </Button>
        {questId !== null && (
          <Button
            testId="open-in-terminal"
            kind="link"
            icon="terminal"
            title={t("Opens a terminal with this output. The command is entered but does not run.")}
            onClick={() => chat.bridge.ui(commandAction("openInTerminal", { questId, callId: part.callId }))}
          >
            {t("Open in Terminal")}
          </Button>
        )}
      </div>
    </>
  );
}
