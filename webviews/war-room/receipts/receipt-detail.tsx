import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Receipt, TraceNode } from "../../../agent-server/contract/receipts.ts";
import { isCancelled, problemOf } from "../../shared/bridge.ts";
import { IconButton, Problem, State, TierBadge, tierMeaning } from "../../shared/components.tsx";
import { formatDateTime, formatDuration, formatNumber, t } from "../../shared/l10n.ts";
import { FieldRow } from "../live-panel.tsx";
import type { WarRoom } from "../war-room-state.ts";
import { TraceTree } from "./trace-tree.tsx";
import { receiptState, typeText } from "./receipt-labels.ts";

function Copyable({ text, label, warRoom }: { text: string; label: string; warRoom: WarRoom }): JSX.Element {
  return (
    <span class="copyable">
      <code>{text}</code>
      <IconButton testId="copy" icon="copy" label={label} onClick={() => warRoom.bridge.ui({ action: "copy", text })} />
    </span>
  );
}

function JsonBlock({ name, value }: { name: string; value: Record<string, unknown> }): JSX.Element | null {
  if (Object.keys(value).length === 0) return null;
  return (
    <>
      <h3>{name}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
      <pre class="exact" tabIndex={0} role="region" aria-label={name}>
        <code>{JSON.stringify(value, null, 2)}</code>
      </pre>
    </>
  );
}

function Fields({ receipt, warRoom }: { receipt: Receipt; warRoom: WarRoom }): JSX.Element {
  const { questId, parentId } = receipt;
  const quest = questId === null ? undefined : warRoom.store.quests.value.get(questId);
  return (
    <dl class="fields">
      <FieldRow name={t("Status")}>
        <State {...receiptState(receipt.status)} />
      </FieldRow>
      {receipt.errorMessage !== null && <FieldRow name={t("Error")}>{receipt.errorMessage}</FieldRow>}
      <FieldRow name={t("Type")}>{typeText(receipt.actionType)}</FieldRow>
      <FieldRow name={t("Tier")}>
        <TierBadge tier={receipt.riskTier} /> {tierMeaning(receipt.riskTier).slice(4)}
      </FieldRow>
      <FieldRow name={t("Started")}>{formatDateTime(receipt.timestamp)}</FieldRow>
      <FieldRow name={t("Duration")}>{receipt.durationMs === null ? t("Running") : formatDuration(receipt.durationMs)}</FieldRow>
      {receipt.tokenCount !== null && <FieldRow name={t("Tokens")}>{formatNumber(receipt.tokenCount)}</FieldRow>}
      <FieldRow name={t("Model tier")}>{receipt.cognitionTier.toLowerCase()}</FieldRow>
      {questId !== null && (
        <FieldRow name={t("Task")}>
          <button type="button" class="button link" onClick={() => warRoom.showQuest(questId)}>
            {quest?.title ?? questId}
          </button>
        </FieldRow>
      )}
      {parentId !== null && (
        <FieldRow name={t("Caused by")}>
          <button type="button" class="button link mono" onClick={() => warRoom.showReceipt(parentId)}>
            {parentId}
          </button>
        </FieldRow>
      )}
      <FieldRow name={t("ID")}>
        <Copyable text={receipt.id} label={t("Copy ID")} warRoom={warRoom} />
      </FieldRow>
      <FieldRow name={t("Hash")}>
        <Copyable text={receipt.hash} label={t("Copy Hash")} warRoom={warRoom} />
      </FieldRow>
      <FieldRow name={t("Previous hash")}>
        <Copyable text={receipt.prevHash} label={t("Copy Previous Hash")} warRoom={warRoom} />
      </FieldRow>
    </dl>
  );
}

/** All fields of a receipt and the trace it belongs to. */
export function ReceiptDetail({ warRoom, id }: { warRoom: WarRoom; id: string }): JSX.Element {
  const receipt = useSignal<Receipt | null>(null);
  const roots = useSignal<readonly TraceNode[] | null>(null);
  const problem = useSignal<string | null>(null);

  useEffect(() => {
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      try {
        problem.value = null;
        const inTree = roots.peek() !== null && contains(roots.peek() ?? [], id);
        const [one, trace] = await Promise.all([
          warRoom.bridge.call("receipts.get", { id }, stop.signal),
          inTree ? null : warRoom.bridge.call("receipts.trace", { id }, stop.signal),
        ]);
        receipt.value = one;
        if (trace !== null) roots.value = trace.roots;
      } catch (error) {
        if (!isCancelled(error)) problem.value = problemOf(error);
      }
    };
    void read();
    // Events update the selected receipt and its trace.
    const off = warRoom.bridge.onEvent((event) => {
      if (event.topic !== "receipt") return;
      const { payload } = event;
      if (payload.id === id) receipt.value = payload;
      const known = roots.peek();
      const parentKnown = payload.parentId !== null && contains(known ?? [], payload.parentId);
      if (known !== null && (parentKnown || contains(known, payload.id))) roots.value = withReceipt(known, payload);
    });
    return () => {
      stop.abort();
      off();
    };
  }, [id, warRoom.store.generation.value]);

  const shown = receipt.value?.id === id ? receipt.value : null;
  return (
    <section class="detail" aria-label={t("Receipt")} aria-busy={shown === null && problem.value === null}>
      <div class="detail-heading">
        <h2 class="ellipsis">{shown?.actionName ?? t("Receipt")}</h2>
        <IconButton
          testId="close-detail"
          icon="close"
          label={t("Close Receipt")}
          onClick={() => {
            warRoom.receipts.selected.value = null;
          }}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
      <div class="detail-body" tabIndex={0} role="region" aria-label={t("Receipt fields")}>
        {problem.value !== null && <Problem text={problem.value} />}
        {shown !== null && <Fields receipt={shown} warRoom={warRoom} />}
        {roots.value !== null && roots.value.length > 0 && (
          <>
            <h3>{t("Trace")}</h3>
            <TraceTree roots={roots.value} selected={id} onSelect={warRoom.showReceipt} />
          </>
        )}
        {shown !== null && (
          <>
            <JsonBlock name={t("Inputs")} value={shown.inputs} />
            <JsonBlock name={t("Outputs")} value={shown.outputs} />
            <JsonBlock name={t("Metadata")} value={shown.metadata} />
          </>
        )}
      </div>
    </section>
  );
}

function contains(nodes: readonly TraceNode[], id: string): boolean {
  return nodes.some((node) => node.receipt.id === id || contains(node.children, id));
}

/** Returns the tree with the receipt updated in place, or appended below its parent. */
export function withReceipt(nodes: readonly TraceNode[], receipt: Receipt): TraceNode[] {
  return nodes.map((node) => {
    if (node.receipt.id === receipt.id) return { ...node, receipt };
    const children = withReceipt(node.children, receipt);
    const added = node.receipt.id === receipt.parentId && !contains(children, receipt.id);
    return { ...node, children: added ? [...children, { receipt, children: [] }] : children };
  });
}
