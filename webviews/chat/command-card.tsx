import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import type { CommandRun, ToolPart } from "../../agent-server/contract/chat.ts";
import type { CommandPlace } from "../../agent-server/contract/providers.ts";
import { commandAction } from "../shared/commands.ts";
import { Button, Icon } from "../shared/components.tsx";
import { Exact } from "../shared/exact.tsx";
import { formatDuration, t } from "../shared/l10n.ts";
import type { Target } from "../shared/terminal/links.ts";
import { TerminalOutput, TerminalTail } from "../shared/terminal/output.tsx";
import type { Chat } from "./state.ts";

/** Lines of a running command that its closed card shows. */
const tailLines = 3;

/** Where a command runs, as it stands on its card. */
export function placeText(place: CommandPlace): string {
  switch (place) {
    case "container":
      return t("in the container");
    case "os_sandbox":
      return t("in the sandbox of the operating system");
    case "host":
      return t("on this machine, without a sandbox");
  }
}

/** How a command ended, in a few words; null while it runs. */
export function endText({ ended, exitCode }: Pick<CommandRun, "ended" | "exitCode">): string | null {
  switch (ended) {
    case null:
      return null;
    case "exit":
      return t("Exit code {0}", exitCode ?? "?");
    case "timeout":
      return t("Took too long and was ended");
    case "stopped":
      return t("Stopped by you");
    case "memory":
      return t("Used more memory or disk than it may and was ended");
    case "lost":
      return t("What ran it went away");
  }
}

/** What the closed card says of a command beside its title: how it ended. Said to a screen reader when it comes. */
export function CommandEnd({ command, status }: { command: CommandRun; status: ToolPart["status"] }): JSX.Element {
  // A task that is stopped does not wait for its command to say so.
  const text = endText(command) ?? (status === "cancelled" ? endText({ ended: "stopped", exitCode: null }) : null);
  const good = command.ended === "exit" && command.exitCode === 0;
  return (
    <span role="status" class="command-end">
      {text !== null && <span class={`badge ${good ? "verdict-allow" : "verdict-deny"}`}>{text}</span>}
    </span>
  );
}

/** The last lines of a running command, below its closed card. */
export function CommandTail({ part, chat }: { part: ToolPart; chat: Chat }): JSX.Element | null {
  return part.status === "running" ? <TerminalTail output={chat.outputs.of(part)} most={tailLines} /> : null;
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

/** A command on its open card: exactly what runs, where, what it prints, and what can be done with it. */
export function CommandBody({ part, command, chat }: { part: ToolPart; command: CommandRun; chat: Chat }): JSX.Element {
  const output = chat.outputs.of(part);
  const running = part.status === "running";
  const { cwd } = command;
  const open = useCallback((target: Target) => openTarget(chat, target, cwd), [chat, cwd]);
  const questId = chat.conversation.questId.value;
  return (
    <>
      <Exact text={command.text} label={t("Command")} />
      <ul class="command-facts">
        {command.place !== null && (
          <li>
            <Icon name={command.place === "host" ? "warning" : "vm"} />
            {running ? t("Runs {0}", placeText(command.place)) : t("Ran {0}", placeText(command.place))}
          </li>
        )}
        <li>
          <Icon name="folder" />
          {cwd === "." ? t("in the workspace") : t("in {0}", cwd)}
        </li>
        <li>
          <Icon name={command.network ? "globe" : "circle-slash"} />
          {command.network ? t("network: the hosts of your list") : t("network: none")}
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
        {running && (
          <Button icon="debug-stop" title={t("Stops the command and the task it belongs to")} onClick={chat.stop}>
            {t("Stop")}
          </Button>
        )}
        <Button
          kind="link"
          icon="copy"
          onClick={() => {
            // From the screen as it is now, with what came since the last drawing.
            chat.bridge.ui({ action: "copy", text: chat.outputs.of(part).screen.text() });
          }}
        >
          {t("Copy output")}
        </Button>
        {questId !== null && (
          <Button
            kind="link"
            icon="terminal"
            title={t("Shows the output in a terminal of yours, with the command typed and not run")}
            onClick={() => chat.bridge.ui(commandAction("openInTerminal", { questId, callId: part.callId }))}
          >
            {t("Open in terminal")}
          </Button>
        )}
      </div>
    </>
  );
}
