import type { JSX } from "preact";
import type { BackgroundCommand } from "../../agent-server/contract/background.ts";
import type { ToolPart } from "../../agent-server/contract/chat.ts";
import { problemOf } from "../shared/bridge.ts";
import { commandAction } from "../shared/commands.ts";
import { Button } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

/** Ports for which a card offers a preview. */
const maxPorts = 8;

/** What a card knows of its background command. */
export type BackgroundState = BackgroundCommand | "unknown" | "ended";

/** The background command of a card: null without one; "ended" when the host no longer knows it. */
export function backgroundOf({ command }: Pick<ToolPart, "command">, chat: Chat): BackgroundState | null {
  if (command?.background === undefined) return null;
  const known = chat.store.background.value.get(command.background.id);
  return known ?? (chat.store.generation.value === 0 ? "unknown" : "ended");
}

/** True while the command runs. */
export function isRunning(state: BackgroundState | null): state is BackgroundCommand {
  return state !== null && typeof state === "object" && state.end === null;
}

/** The card's part with the output that the host holds of the command. */
export function withOutput(part: ToolPart, state: BackgroundState | null): ToolPart {
  if (state === null || typeof state !== "object" || state.live === undefined) return part;
  return { ...part, live: state.live };
}

/** Describes the state of a background command. */
export function backgroundText(state: BackgroundState): string | null {
  if (state === "unknown") return null;
  if (state === "ended") return t("Ended");
  switch (state.end?.reason) {
    case undefined:
      return t("Running");
    case "exit":
      return t("Exit code {0}", state.end?.exitCode ?? "?");
    case "model":
      return t("Stopped by Lancelot");
    case "user":
      return t("Stopped by you");
    case "limit":
    case "memory":
      return t("Stopped at the memory or disk limit");
    case "timeout":
      return t("Timed out");
    case "task":
      return t("Stopped with its task");
    case "host":
    case "lost":
      return t("Ended");
  }
}

/** Shows the state beside the card's title and announces it to a screen reader. */
export function BackgroundBadge({ state }: { state: BackgroundState }): JSX.Element {
  const text = backgroundText(state);
  const end = typeof state === "object" ? state.end : null;
  const isBad = end !== null && ["exit", "limit", "memory", "timeout"].includes(end.reason) && end.exitCode !== 0;
  return (
    <span role="status" class="command-end" data-testid="background-state">
      {text !== null && <span class={`badge ${isRunning(state) ? "verdict-allow" : isBad ? "verdict-deny" : ""}`}>{text}</span>}
    </span>
  );
}

/** Stops a running command, and previews the ports on which it listens. */
export function BackgroundActions({ state, chat }: { state: BackgroundCommand; chat: Chat }): JSX.Element {
  const { id, ports } = state;
  const stop = (): void => {
    chat.bridge.call("background.stop", { id }).then(chat.store.putBackground, (error: unknown) => {
      chat.problem.value = problemOf(error);
    });
  };
  return (
    <div class="actions command-actions" data-testid="background-actions">
      <Button testId="stop-background" icon="debug-stop" title={t("Stops this command. The task continues.")} onClick={stop}>
        {t("Stop")}
      </Button>
      {ports.slice(0, maxPorts).map((port) => (
        <Button
          key={port}
          testId={`preview:${port}`}
          icon="open-preview"
          title={t("Opens this port in the editor's browser. The page runs with your network access.")}
          onClick={() => chat.bridge.ui(commandAction("previewPort", { id, port: String(port) }))}
        >
          {t("Preview Port {0}", String(port))}
        </Button>
      ))}
    </div>
  );
}
