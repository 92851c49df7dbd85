import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Verification } from "../../../agent-server/contract/receipts.ts";
import { isCancelled, problemOf } from "../../shared/bridge.ts";
import { Button, Icon } from "../../shared/components.tsx";
import { count, t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";

type Outcome =
  | { readonly kind: "running" }
  | { readonly kind: "done"; readonly result: Verification }
  | { readonly kind: "failed"; readonly text: string };

function ResultLine({ result, room }: { result: Verification; room: WarRoom }): JSX.Element {
  const bad = result.firstBad;
  if (result.ok || bad === undefined) {
    return (
      <div class="verify-result good">
        <Icon name="pass" />
        <span>
          {count(result.entries, "The ledger is whole: {0} entry checked.", "The ledger is whole: {0} entries checked.")}{" "}
          {result.head !== null && (
            <>
              {t("Head:")} <code title={result.head}>{result.head.slice(0, 16)}…</code>
            </>
          )}
        </span>
      </div>
    );
  }
  const { receiptId } = bad;
  return (
    <div class="verify-result bad">
      <Icon name="error" />
      <span>
        <strong>{t("The ledger is damaged from entry {0} on ({1}).", bad.seq, problemText(bad.problem))}</strong> {bad.message}
      </span>
      {receiptId !== null && <Button onClick={() => room.showReceipt(receiptId)}>{t("Show the receipt")}</Button>}
    </div>
  );
}

function problemText(problem: NonNullable<Verification["firstBad"]>["problem"]): string {
  switch (problem) {
    case "changed":
      return t("changed");
    case "removed":
      return t("removed");
    case "inserted":
      return t("inserted");
    case "reordered":
      return t("reordered");
  }
}

/** *Verify ledger*: checks the whole chain and says what came of it. */
export function useVerify(room: WarRoom): { button: JSX.Element; result: JSX.Element } {
  const outcome = useSignal<Outcome | null>(null);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const running = outcome.value?.kind === "running";

  const verify = async (): Promise<void> => {
    const mine = new AbortController();
    stop.current = mine;
    outcome.value = { kind: "running" };
    try {
      outcome.value = { kind: "done", result: await room.bridge.call("receipts.verify", {}, mine.signal) };
    } catch (error) {
      outcome.value = isCancelled(error) ? null : { kind: "failed", text: problemOf(error) };
    }
  };

  return {
    button: running ? (
      <Button icon="debug-stop" onClick={() => stop.current?.abort()}>
        {t("Stop checking")}
      </Button>
    ) : (
      <Button icon="verified" onClick={() => void verify()}>
        {t("Verify ledger")}
      </Button>
    ),
    result: (
      <div role="status" aria-live="polite">
        {outcome.value?.kind === "running" && (
          <div class="verify-result">
            <Icon name="loading" spin />
            <span>{t("Checking every entry of the ledger…")}</span>
          </div>
        )}
        {outcome.value?.kind === "failed" && (
          <div class="verify-result bad">
            <Icon name="error" />
            <span>{outcome.value.text}</span>
          </div>
        )}
        {outcome.value?.kind === "done" && <ResultLine result={outcome.value.result} room={room} />}
      </div>
    ),
  };
}
