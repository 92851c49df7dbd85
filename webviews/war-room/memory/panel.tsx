import type { JSX } from "preact";
import { commandAction } from "../../shared/commands.ts";
import { Button, Icon, IconButton, Problem } from "../../shared/components.tsx";
import { formatNumber, t } from "../../shared/l10n.ts";
import { FlagOff } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";
import { CommitsSection } from "./commits.tsx";
import { ContextsSection } from "./contexts.tsx";
import { CoreSection } from "./core.tsx";
import { QuarantineSection } from "./quarantine.tsx";
import { SearchSection } from "./search.tsx";
import { type Section, sections } from "./state.ts";
import { UpkeepSection } from "./upkeep.tsx";
import { sectionText } from "./words.ts";

/** Quarantined entries that wait for the owner; 0 while that is not known. */
export function waitingCount(room: WarRoom): number {
  return room.memory.status.value.value?.quarantined ?? 0;
}

function Sections({ room }: { room: WarRoom }): JSX.Element {
  const { section } = room.memory;
  const waiting = waitingCount(room);
  return (
    <div class="memory-sections" role="group" aria-label={t("Parts of memory")}>
      {sections.map((one) => (
        <button
          key={one}
          type="button"
          class="segment"
          aria-pressed={section.value === one}
          onClick={() => {
            section.value = one;
          }}
        >
          {sectionText(one)}
          {one === "quarantine" && waiting > 0 && <span class="count">{formatNumber(waiting)}</span>}
        </button>
      ))}
    </div>
  );
}

/** What was done last, and the way to take it back. */
function DoneBar({ room }: { room: WarRoom }): JSX.Element {
  const { done } = room.memory;
  const last = done.value;
  const close = (): void => {
    done.value = null;
  };
  return (
    <div role="status">
      {last !== null && (
        <div class="done-bar">
          <Icon name="check" />
          <span>{last.text}</span>
          {last.undo !== null && (
            <Button
              kind="link"
              onClick={() => {
                room.bridge.ui(commandAction("undoMemory", { commitId: last.undo ?? "" }));
                close();
              }}
            >
              {t("Undo")}
            </Button>
          )}
          <IconButton icon="close" label={t("Close")} onClick={close} />
        </div>
      )}
    </div>
  );
}

function Body({ room, section }: { room: WarRoom; section: Section }): JSX.Element {
  switch (section) {
    case "core":
      return <CoreSection room={room} />;
    case "search":
      return <SearchSection room={room} />;
    case "commits":
      return <CommitsSection room={room} />;
    case "quarantine":
      return <QuarantineSection room={room} />;
    case "contexts":
      return <ContextsSection room={room} />;
    case "upkeep":
      return <UpkeepSection room={room} />;
  }
}

/** What Lancelot remembers: how it got there, what a prompt gets of it, and the way back. */
export function MemoryPanel({ room }: { room: WarRoom }): JSX.Element {
  const { status, section } = room.memory;
  const problem = status.problem.value;
  const wrong = status.value.value?.problem ?? null;
  if (problem !== null && problem.flag !== null)
    return (
      <FlagOff
        room={room}
        flag={problem.flag}
        text={problem.text}
        whenOff={t("Tasks work without it, with what the workspace and the conversation give. What was remembered stays where it is.")}
      />
    );
  return (
    <div class="memory receipts">
      <Sections room={room} />
      <DoneBar room={room} />
      {wrong !== null && <Problem text={wrong} />}
      {room.bridge.host.value.state === "ready" || status.value.value !== null ? (
        <Body room={room} section={section.value} />
      ) : (
        <div class="nothing quiet">{t("This is read when the agent host runs.")}</div>
      )}
    </div>
  );
}
