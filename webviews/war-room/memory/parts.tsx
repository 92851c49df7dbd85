import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX, TargetedInputEvent } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { MemoryDiff, Provenance } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem } from "../../shared/components.tsx";
import { DiffLines } from "../../shared/diff.tsx";
import { t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";
import { changedLines, opText, sourceText, targetText } from "./words.ts";

/** The task something belongs to, as a way to the chat while there is one. */
export function TaskLink({ room, questId }: { room: WarRoom; questId: string }): JSX.Element {
  const quest = room.store.quests.value.get(questId);
  if (quest === undefined) return <span class="quiet">{t("a deleted task")}</span>;
  return (
    <button
      type="button"
      class="button link"
      title={t("Open this task in the chat")}
      onClick={() => room.bridge.ui(commandAction("openChat", { questId }))}
    >
      {quest.title}
    </button>
  );
}

export function ReceiptLink({ room, id }: { room: WarRoom; id: string }): JSX.Element {
  return (
    <button type="button" class="button link" onClick={() => room.showReceipt(id)}>
      {t("Receipt")}
    </button>
  );
}

/** Where a memory comes from, with the way to its evidence. */
export function Origin(props: { room: WarRoom; provenance: Provenance; questId: string | null }): JSX.Element {
  const { room, provenance, questId } = props;
  const { source, ref } = provenance;
  const [kind, ...rest] = (ref ?? "").split(":");
  const id = rest.join(":");
  const evidence = (): ComponentChildren => {
    if (ref === undefined || ref === "") return null;
    if (kind === "receipt" && id !== "") return <ReceiptLink room={room} id={id} />;
    if (kind !== "message") return <span class="mono">{ref}</span>;
    return questId === null ? null : <TaskLink room={room} questId={questId} />;
  };
  return (
    <span class="origin">
      {sourceText(source)} {evidence()}
    </span>
  );
}

/** One change of one item. */
export function Change({ diff, name }: { diff: MemoryDiff; name: string }): JSX.Element {
  const lines = changedLines(diff.before, diff.after);
  return (
    <>
      {lines.length > 0 && <DiffLines lines={lines} label={`${opText(diff.op)}, ${targetText(diff.target)}: ${name}`} />}
      {diff.reason !== "" && <p class="quiet">{diff.reason}</p>}
    </>
  );
}

interface TextFormProps {
  label: string;
  value?: string;
  placeholder?: string;
  /** Lines that are shown; 1 makes it a line that Enter sends. */
  rows: number;
  /** What the button says. */
  yes: string;
  /** An empty text is sent too. */
  optional?: boolean;
  maxLength: number;
  busy: boolean;
  problem: string | null;
  onSend: (text: string) => void;
  onClose: () => void;
}

/** A field that opens in place and has the focus; Escape closes it. In several lines Ctrl+Enter sends. */
export function TextForm(props: TextFormProps): JSX.Element {
  const { label, value = "", placeholder, rows, yes, optional = false, maxLength, busy, problem, onSend, onClose } = props;
  const id = useId();
  const text = useSignal(value);
  const field = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const ready = !busy && (optional || text.value.trim() !== "");
  const send = (): void => {
    if (ready) onSend(text.value.trim());
  };
  const common = {
    ...{ id, class: "field", ref: field, value: text.value, placeholder, maxLength },
    onInput: (event: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      text.value = event.currentTarget.value;
    },
  };
  return (
    <form
      class="memory-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        // What is typed here is no key of the list around it.
        event.stopPropagation();
        if (event.key === "Escape") onClose();
        else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
      }}
    >
      <label for={id}>{label}</label>
      {rows === 1 ? <input type="text" {...common} /> : <textarea rows={rows} {...common} />}
      {problem !== null && <Problem text={problem} />}
      <div class="actions">
        <Button kind="primary" disabled={!ready} onClick={send}>
          {yes}
        </Button>
        <Button onClick={onClose}>{t("Cancel")}</Button>
      </div>
    </form>
  );
}

/** Why the last act on something did not work; null when it did. */
export function problemFor(room: WarRoom, id: string): string | null {
  const problem = room.memory.problem.value;
  return problem?.of === id ? problem.text : null;
}
