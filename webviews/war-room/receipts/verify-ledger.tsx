import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Verification } from "../../../agent-server/contract/receipts.ts";
import { isCancelled, problemOf } from "../../shared/bridge.ts";
import { Button, Icon } from "../../shared/components.tsx";
import { count, formatDateTime, formatNumber, t } from "../../shared/l10n.ts";
import type { WarRoom } from "../war-room-state.ts";

type Outcome =
  | { readonly kind: "running"; readonly done: number; readonly total: number }
  | { readonly kind: "done"; readonly result: Verification }
  | { readonly kind: "failed"; readonly text: string };

/** The evidence beyond the hash chain: signed heads and sealed segments. */
function ChainEvidence({ signed, segments }: Pick<Verification, "signed" | "segments">): JSX.Element {
  return (
    <span class="quiet verify-held">
      {signed === null ? (
        t("No signed head yet. Verification could not detect a chain that was rewritten from its start.")
      ) : (
        <>
          {count(signed.heads, "{0} signed head verified.", "{0} signed heads verified.")}{" "}
          {t("Latest signature: entry {0}, {1}, key {2}.", formatNumber(signed.seq), formatDateTime(signed.at), signed.keyId)}
        </>
      )}{" "}
      {segments.count > 0 &&
        t("{0} with {1} entries.", count(segments.count, "{0} sealed segment", "{0} sealed segments"), formatNumber(segments.entries))}
    </span>
  );
}

function ResultLine({ result, warRoom }: { result: Verification; warRoom: WarRoom }): JSX.Element {
  const bad = result.firstBad;
  if (result.ok || bad === undefined) {
    return (
      <div class="verify-result good">
        <Icon name="pass" />
        <span>
          {count(result.entries, "Ledger verified: {0} entry, no problems.", "Ledger verified: {0} entries, no problems.")}{" "}
          {result.head !== null && (
            <>
              {t("Chain head:")} <code title={result.head}>{result.head.slice(0, 16)}…</code>{" "}
            </>
          )}
          <ChainEvidence {...result} />
        </span>
      </div>
    );
  }
  const { receiptId } = bad;
  return (
    <div class="verify-result bad">
      <Icon name="error" />
      <span>
        <strong>{t("Ledger verification failed at entry {0} ({1}).", bad.seq, problemText(bad.problem))}</strong> {bad.message}
      </span>
      {receiptId !== null && (
        <Button testId="show-receipt" onClick={() => warRoom.showReceipt(receiptId)}>
          {t("Show Receipt")}
        </Button>
      )}
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
      return t("invalid signature");
  }
}

function runningText(done: number, total: number): string {
  if (total <= 0) return t("Verifying the ledger…");
  return t("Verifying the ledger: {0} of {1} entries", formatNumber(Math.min(done, total)), formatNumber(total));
}

/** Verifies the whole chain and shows the result. */
export function useVerify(warRoom: WarRoom): { button: JSX.Element; result: JSX.Element } {
  const outcome = useSignal<Outcome | null>(null);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => {
    const off = warRoom.bridge.onEvent((event) => {
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
      outcome.value = { kind: "done", result: await warRoom.bridge.call("receipts.verify", {}, mine.signal) };
    } catch (error) {
      outcome.value = isCancelled(error) ? null : { kind: "failed", text: problemOf(error) };
    }
  };

  return {
    button:
      now?.kind === "running" ? (
        <Button testId="stop-verification" icon="debug-stop" onClick={() => stop.current?.abort()}>
          {t("Stop Verification")}
        </Button>
      ) : (
        <Button testId="verify-ledger" icon="verified" onClick={() => void verify()}>
          {t("Verify Receipts")}
        </Button>
      ),
    result: (
      <>
        {now?.kind === "running" && (
          // Progress is not announced, because a screen reader would read nothing else.
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
          {now?.kind === "done" && <ResultLine result={now.result} warRoom={warRoom} />}
        </div>
      </>
    ),
  };
}
