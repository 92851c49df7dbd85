import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { parseAmount } from "../../../agent-server/contract/amounts.ts";
import type { UsageCaps } from "../../../agent-server/contract/usage.ts";
import { Button, Problem } from "../../shared/components.tsx";
import { formatUsd, t } from "../../shared/l10n.ts";
import { Block } from "../live-panel.tsx";
import type { WarRoom } from "../war-room-state.ts";

function textOf(usd: number | null): string {
  return usd === null ? "" : String(usd);
}

function Amount(props: { testId: string; label: string; text: string; wrong: boolean; onText: (text: string) => void }): JSX.Element {
  const { testId, label, text, wrong, onText } = props;
  const id = useId();
  return (
    <div class="amount">
      <label for={id}>{label}</label>
      <input
        id={id}
        data-testid={testId}
        class="field"
        type="text"
        inputMode="decimal"
        placeholder={t("No cap")}
        value={text}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {wrong && (
        <span id={`${id}-wrong`} class="wrong" role="alert">
          {t("Enter an amount above 0, such as 2.50, or leave it empty for no cap.")}
        </span>
      )}
    </div>
  );
}

/** The editor for the spending caps. It shows the values that the host saved and their receipt. */
export function CapsBlock({ warRoom, caps }: { warRoom: WarRoom; caps: UsageCaps }): JSX.Element {
  const { busy, problem, saved } = warRoom.usage;
  const [quest, setQuest] = useState(textOf(caps.questUsd));
  const [day, setDay] = useState(textOf(caps.dayUsd));
  const [known, setKnown] = useState(caps);
  if (known.questUsd !== caps.questUsd || known.dayUsd !== caps.dayUsd) {
    // Values that another window or the user's editor saved replace the local ones.
    setKnown(caps);
    setQuest(textOf(caps.questUsd));
    setDay(textOf(caps.dayUsd));
  }
  const wanted = { questUsd: parseAmount(quest), dayUsd: parseAmount(day) };
  const { questUsd, dayUsd } = wanted;
  const isNew = questUsd !== caps.questUsd || dayUsd !== caps.dayUsd;
  const save = (): void => {
    if (questUsd !== undefined && dayUsd !== undefined) void warRoom.usage.saveCaps({ questUsd, dayUsd });
  };
  const failed = problem.value?.request === "caps" ? problem.value.text : null;
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
        <Amount testId="task-cap" label={t("Task cap (US dollars)")} text={quest} wrong={questUsd === undefined} onText={setQuest} />
        <Amount testId="day-cap" label={t("Daily cap (US dollars)")} text={day} wrong={dayUsd === undefined} onText={setDay} />
        <div class="actions">
          <Button
            testId="save-caps"
            kind="primary"
            disabled={!isNew || questUsd === undefined || dayUsd === undefined || busy.value !== null}
            onClick={save}
          >
            {busy.value === "caps" ? t("Saving…") : t("Save")}
          </Button>
        </div>
      </form>
      {failed !== null && <Problem text={failed} />}
      <p class="quiet" role="status" data-testid={written !== null && !isNew ? "caps-saved" : undefined}>
        {written !== null && !isNew ? (
          <>
            {t("Saved: {0} per task, {1} per day.", capText(written.caps.questUsd), capText(written.caps.dayUsd))}{" "}
            {receiptId !== null && (
              <button data-testid="caps-receipt" type="button" class="button link" onClick={() => warRoom.showReceipt(receiptId)}>
                {t("Receipt")}
              </button>
            )}
          </>
        ) : (
          t("If a call could exceed a cap, Lancelot stops the task before the call. You can resume it.")
        )}
      </p>
    </Block>
  );
}

function capText(usd: number | null): string {
  return usd === null ? t("no cap") : formatUsd(usd);
}
