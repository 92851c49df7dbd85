import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX, TargetedInputEvent } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { MemoryDiff, Provenance } from "../../../agent-server/contract/memory.ts";
import { commandAction } from "../../shared/commands.ts";
import { Button, Problem } from "../../shared/components.tsx";
import { DiffLines } from "../../shared/diff.tsx";
import { t } from "../../shared/l10n.ts";
import type { WarRoom } from "../war-room-state.ts";
import { changedLines, opText, sourceText, targetText } from "./memory-labels.ts";

/** A link to the task in the chat, if the task still exists. */
export function TaskLink({ warRoom, questId }: { warRoom: WarRoom; questId: string }): JSX.Element {
  const quest = warRoom.store.quests.value.get(questId);
  if (quest === undefined) return <span class="quiet">{t("deleted task")}</span>;
  return (
    <button
      data-testid={`open-task:${questId}`}
      type="button"
      class="button link"
      title={t("Open task in chat")}
      onClick={() => warRoom.bridge.ui(commandAction("openChat", { questId }))}
    >
      {quest.title}
    </button>
  );
}

export function ReceiptLink({ warRoom, id }: { warRoom: WarRoom; id: string }): JSX.Element {
  return (
    <button data-testid="receipt" type="button" class="button link" onClick={() => warRoom.showReceipt(id)}>
      {t("Receipt")}
    </button>
  );
}

/** The source of a memory item, with a link to its evidence. */
export function Origin(props: { warRoom: WarRoom; provenance: Provenance; questId: string | null }): JSX.Element {
  const { warRoom, provenance, questId } = props;
  const { source, ref } = provenance;
  const [kind, ...rest] = (ref ?? "").split(":");
  const id = rest.join(":");
  const evidence = (): ComponentChildren => {
    if (ref === undefined || ref === "") return null;
    if (kind === "receipt" && id !== "") return <ReceiptLink warRoom={warRoom} id={id} />;
    if (kind !== "message") return <span class="mono">{ref}</span>;
    return questId === null ? null : <TaskLink warRoom={warRoom} questId={questId} />;
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
  /** Test id of the field; the submit button adds `-submit`. */
  testId: string;
  label: string;
  value?: string;
  placeholder?: string;
  /** Number of visible lines. With 1, Enter sends the text. */
  rows: number;
  /** Label of the submit button. */
  submitLabel: string;
  /** Permits an empty text. */
  optional?: boolean;
  maxLength: number;
  busy: boolean;
  problem: string | null;
  onSend: (text: string) => void;
  onClose: () => void;
}

/** A text field that opens in place and takes the focus. Escape closes it; in several lines Ctrl+Enter sends. */
export function TextForm(props: TextFormProps): JSX.Element {
  const { testId, label, value = "", placeholder, rows, submitLabel, optional = false, maxLength, busy, problem, onSend, onClose } = props;
  const id = useId();
  const text = useSignal(value);
  const field = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const ready = !busy && (optional || text.value.trim() !== "");
  const send = (): void => {
    if (ready) onSend(text.value.trim());
  };
  const common = {
    ...{ id, "data-testid": testId, class: "field", ref: field, value: text.value, placeholder, maxLength },
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
        // Keys typed here must not reach the list around the form.
        event.stopPropagation();
        if (event.key === "Escape") onClose();
        else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
      }}
    >
      <label for={id}>{label}</label>
      {rows === 1 ? <input type="text" {...common} /> : <textarea rows={rows} {...common} />}
      {problem !== null && <Problem text={problem} />}
      <div class="actions">
        <Button testId={`${testId}-submit`} kind="primary" disabled={!ready} onClick={send}>
          {submitLabel}
        </Button>
        <Button testId={`${testId}-cancel`} onClick={onClose}>
          {t("Cancel")}
        </Button>
      </div>
    </form>
  );
}

/** Returns the problem of the last action on this item, or null. */
export function problemFor(warRoom: WarRoom, id: string): string | null {
  const problem = warRoom.memory.problem.value;
  return problem?.actionId === id ? problem.text : null;
}
