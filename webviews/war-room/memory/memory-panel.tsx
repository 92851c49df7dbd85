import type { JSX } from "preact";
import { commandAction } from "../../shared/commands.ts";
import { Button, Icon, IconButton, Problem } from "../../shared/components.tsx";
import { formatNumber, t } from "../../shared/l10n.ts";
import { FlagOff } from "../live-panel.tsx";
import { Segments } from "../segments.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { CommitsSection } from "./commits.tsx";
import { ContextsSection } from "./contexts.tsx";
import { CoreSection } from "./core-blocks.tsx";
import { QuarantineSection } from "./quarantine.tsx";
import { SearchSection } from "./memory-search.tsx";
import { type Section, sections } from "./memory-state.ts";
import { MaintenanceSection } from "./maintenance.tsx";
import { sectionText } from "./memory-labels.ts";

/** Number of quarantined entries to review; 0 while unknown. */
export function pendingQuarantineCount(warRoom: WarRoom): number {
  return warRoom.memory.status.value.value?.quarantined ?? 0;
}

function Sections({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { section } = warRoom.memory;
  const pending = pendingQuarantineCount(warRoom);
  return (
    <Segments
      class="memory-sections"
      label={t("Memory sections")}
      testId="section"
      options={sections}
      value={section.value}
      onChange={(next) => {
        section.value = next;
      }}
      text={(option) => (
        <>
          {sectionText(option)}
          {option === "quarantine" && pending > 0 && <span class="count">{formatNumber(pending)}</span>}
        </>
      )}
    />
  );
}

/** Reports the last completed action and offers to undo it. */
function LastActionBar({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { lastAction } = warRoom.memory;
  const last = lastAction.value;
  const close = (): void => {
    lastAction.value = null;
  };
  return (
    <div role="status">
      {last !== null && (
        <div class="done-bar">
          <Icon name="check" />
          <span>{last.text}</span>
          {last.undo !== null && (
            <Button
              testId="undo-memory"
              kind="link"
              onClick={() => {
                warRoom.bridge.ui(commandAction("undoMemory", { commitId: last.undo ?? "" }));
                close();
              }}
            >
              {t("Undo")}
            </Button>
          )}
          <IconButton testId="dismiss-last-action" icon="close" label={t("Close")} onClick={close} />
        </div>
      )}
    </div>
  );
}

function Body({ warRoom, section }: { warRoom: WarRoom; section: Section }): JSX.Element {
  switch (section) {
    case "core":
      return <CoreSection warRoom={warRoom} />;
    case "search":
      return <SearchSection warRoom={warRoom} />;
    case "commits":
      return <CommitsSection warRoom={warRoom} />;
    case "quarantine":
      return <QuarantineSection warRoom={warRoom} />;
    case "contexts":
      return <ContextsSection warRoom={warRoom} />;
    case "upkeep":
      return <MaintenanceSection warRoom={warRoom} />;
  }
}

/** The memory of Lancelot: content, history, review and use in prompts. */
export function MemoryPanel({ warRoom }: { warRoom: WarRoom }): JSX.Element {
  const { status, section } = warRoom.memory;
  const problem = status.problem.value;
  const wrong = status.value.value?.problem ?? null;
  if (problem !== null && problem.flag !== null)
    return (
      <FlagOff
        warRoom={warRoom}
        flag={problem.flag}
        text={problem.text}
        whenOff={t("Tasks still work without memory. They use the workspace and the conversation. Existing memories are kept.")}
      />
    );
  return (
    <div class="memory receipts">
      <Sections warRoom={warRoom} />
      <LastActionBar warRoom={warRoom} />
      {wrong !== null && <Problem text={wrong} />}
      {warRoom.bridge.host.value.state === "ready" || status.value.value !== null ? (
        <Body warRoom={warRoom} section={section.value} />
      ) : (
        <div class="nothing quiet">{t("Start the agent host to see this content.")}</div>
      )}
    </div>
  );
}
