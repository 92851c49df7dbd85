import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Verification } from "../../../agent-server/contract/receipts.ts";
import { isCancelled, problemOf } from "../../shared/bridge.ts";
import { Button, Icon } from "../../shared/components.tsx";
import { count, formatDateTime, formatNumber, t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";

type Outcome =
  | { readonly kind: "running"; readonly done: number; readonly total: number }
  | { readonly kind: "done"; readonly result: Verification }
  | { readonly kind: "failed"; readonly text: string };

/** What holds the chain besides its own hashes: signed heads, and segments that were sealed. */
function Held({ signed, segments }: Pick<Verification, "signed" | "segments">): JSX.Element {
  return (
    <span class="quiet verify-held">
      {signed === null ? (
        t("No head is signed yet: a chain rewritten from its start would not show.")
      ) : (
        <>
          {count(signed.heads, "{0} signed head checked.", "{0} signed heads checked.")}{" "}
          {t("The latest is at entry {0}, {1}, key {2}.", formatNumber(signed.seq), formatDateTime(signed.at), signed.keyId)}
        </>
      )}{" "}
      {segments.count > 0 &&
        t("{0} with {1} entries.", count(segments.count, "{0} sealed segment", "{0} sealed segments"), formatNumber(segments.entries))}
    </span>
  );
}

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
              {t("Head:")} <code title={result.head}>{result.head.slice(0, 16)}…</code>{" "}
            </>
          )}
          <Held {...result} />
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
    case "signature":
      return t("signature does not fit");
  }
}

function runningText(done: number, total: number): string {
  if (total <= 0) return t("Checking every entry of the ledger…");
  return t("Checking every entry of the ledger: {0} of {1}…", formatNumber(Math.min(done, total)), formatNumber(total));
}

/** *Verify ledger*: checks the whole chain and says what came of it. */
export function useVerify(room: WarRoom): { button: JSX.Element; result: JSX.Element } {
  const outcome = useSignal<Outcome | null>(null);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => {
    const off = room.bridge.onEvent((event) => {
      if (event.topic === "verifying" && outcome.peek()?.kind === "running") outcome.value = { kind: "running", ...event.payload };
    });
    return () => {
      off();
      stop.current?.abort();
    };
  }, []);
  const now = outcome.value;

  const verify = async (): Promise<void> => {
    const mine = new AbortController();
    stop.current = mine;
    outcome.value = { kind: "running", done: 0, total: 0 };
    try {
      outcome.value = { kind: "done", result: await room.bridge.call("receipts.verify", {}, mine.signal) };
    } catch (error) {
      outcome.value = isCancelled(error) ? null : { kind: "failed", text: problemOf(error) };
    }
  };

  return {
    button:
      now?.kind === "running" ? (
        <Button icon="debug-stop" onClick={() => stop.current?.abort()}>
          {t("Stop checking")}
        </Button>
      ) : (
        <Button icon="verified" onClick={() => void verify()}>
          {t("Verify ledger")}
        </Button>
      ),
    result: (
      <>
        {now?.kind === "running" && (
          // Not announced step by step: a screen reader would read nothing else.
          <div class="verify-result">
            <Icon name="loading" spin />
            <span>{runningText(now.done, now.total)}</span>
          </div>
        )}
        <div role="status" aria-live="polite">
          {now?.kind === "failed" && (
            <div class="verify-result bad">
              <Icon name="error" />
              <span>{now.text}</span>
            </div>
          )}
          {now?.kind === "done" && <ResultLine result={now.result} room={room} />}
        </div>
      </>
    ),
  };
}
