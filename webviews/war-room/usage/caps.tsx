import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { parseAmount } from "../../../agent-server/contract/amounts.ts";
import type { UsageCaps } from "../../../agent-server/contract/usage.ts";
import { Button, Problem } from "../../shared/components.tsx";
import { formatUsd, t } from "../../shared/l10n.ts";
import { Block } from "../live-panel.tsx";
import type { WarRoom } from "../state.ts";

function textOf(usd: number | null): string {
  return usd === null ? "" : String(usd);
}

function Amount(props: { label: string; text: string; wrong: boolean; onText: (text: string) => void }): JSX.Element {
  const { label, text, wrong, onText } = props;
  const id = useId();
  return (
    <div class="amount">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="field"
        type="text"
        inputMode="decimal"
        placeholder={t("no cap")}
        value={text}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {wrong && (
        <span id={`${id}-wrong`} class="wrong" role="alert">
          {t("An amount above 0, such as 2.50, or nothing for no cap.")}
        </span>
      )}
    </div>
  );
}

/** Caps, changed in place. What counts is what the host wrote: it is shown with its receipt. */
export function CapsBlock({ room, caps }: { room: WarRoom; caps: UsageCaps }): JSX.Element {
  const { busy, problem, saved } = room.usage;
  const [quest, setQuest] = useState(textOf(caps.questUsd));
  const [day, setDay] = useState(textOf(caps.dayUsd));
  const [known, setKnown] = useState(caps);
  if (known.questUsd !== caps.questUsd || known.dayUsd !== caps.dayUsd) {
    // What another window or the owner's editor wrote is what is changed next.
    setKnown(caps);
    setQuest(textOf(caps.questUsd));
    setDay(textOf(caps.dayUsd));
  }
  const wanted = { questUsd: parseAmount(quest), dayUsd: parseAmount(day) };
  const { questUsd, dayUsd } = wanted;
  const isNew = questUsd !== caps.questUsd || dayUsd !== caps.dayUsd;
  const save = (): void => {
    if (questUsd !== undefined && dayUsd !== undefined) void room.usage.saveCaps({ questUsd, dayUsd });
  };
  const failed = problem.value?.of === "caps" ? problem.value.text : null;
  const written = saved.value;
  const receiptId = written?.receiptId ?? null;
  return (
    <Block title={t("Caps")}>
      <form
        class="caps"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <Amount label={t("For a task, US dollars")} text={quest} wrong={questUsd === undefined} onText={setQuest} />
        <Amount label={t("For a day, US dollars")} text={day} wrong={dayUsd === undefined} onText={setDay} />
        <div class="actions">
          <Button kind="primary" disabled={!isNew || questUsd === undefined || dayUsd === undefined || busy.value !== null} onClick={save}>
            {busy.value === "caps" ? t("Saving…") : t("Save")}
          </Button>
        </div>
      </form>
      {failed !== null && <Problem text={failed} />}
      <p class="quiet" role="status">
        {written !== null && !isNew ? (
          <>
            {t("Saved: {0} for a task, {1} for a day.", capText(written.caps.questUsd), capText(written.caps.dayUsd))}{" "}
            {receiptId !== null && (
              <button type="button" class="button link" onClick={() => room.showReceipt(receiptId)}>
                {t("Receipt")}
              </button>
            )}
          </>
        ) : (
          t("A call that could pass a cap is not made; the task stops and can be resumed.")
        )}
      </p>
    </Block>
  );
}

function capText(usd: number | null): string {
  return usd === null ? t("no cap") : formatUsd(usd);
}
