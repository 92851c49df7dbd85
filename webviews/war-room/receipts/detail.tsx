import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Receipt, TraceNode } from "../../../agent-server/contract/receipts.ts";
import { isCancelled, problemOf } from "../../shared/bridge.ts";
import { IconButton, Problem, State, TierBadge, tierMeaning } from "../../shared/components.tsx";
import { formatDateTime, formatDuration, formatNumber, t } from "../../shared/l10n.ts";
import type { WarRoom } from "../state.ts";
import { TraceTree } from "./trace-tree.tsx";
import { statusLook, typeText } from "./words.ts";

function Field({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="field-row">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Copyable({ text, label, room }: { text: string; label: string; room: WarRoom }): JSX.Element {
  return (
    <span class="copyable">
      <code>{text}</code>
      <IconButton icon="copy" label={label} onClick={() => room.bridge.ui({ action: "copy", text })} />
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

function Fields({ receipt, room }: { receipt: Receipt; room: WarRoom }): JSX.Element {
  const { questId, parentId } = receipt;
  const quest = questId === null ? undefined : room.store.quests.value.get(questId);
  return (
    <dl class="fields">
      <Field name={t("Status")}>
        <State {...statusLook(receipt.status)} />
      </Field>
      {receipt.errorMessage !== null && <Field name={t("Error")}>{receipt.errorMessage}</Field>}
      <Field name={t("Type")}>{typeText(receipt.actionType)}</Field>
      <Field name={t("Tier")}>
        <TierBadge tier={receipt.riskTier} /> {tierMeaning(receipt.riskTier).slice(4)}
      </Field>
      <Field name={t("Opened")}>{formatDateTime(receipt.timestamp)}</Field>
      <Field name={t("Duration")}>{receipt.durationMs === null ? t("still open") : formatDuration(receipt.durationMs)}</Field>
      {receipt.tokenCount !== null && <Field name={t("Tokens")}>{formatNumber(receipt.tokenCount)}</Field>}
      <Field name={t("Cognition")}>{receipt.cognitionTier.toLowerCase()}</Field>
      {questId !== null && (
        <Field name={t("Task")}>
          <button type="button" class="button link" onClick={() => room.showQuest(questId)}>
            {quest?.title ?? questId}
          </button>
        </Field>
      )}
      {parentId !== null && (
        <Field name={t("Caused by")}>
          <button type="button" class="button link mono" onClick={() => room.showReceipt(parentId)}>
            {parentId}
          </button>
        </Field>
      )}
      <Field name={t("Id")}>
        <Copyable text={receipt.id} label={t("Copy id")} room={room} />
      </Field>
      <Field name={t("Hash")}>
        <Copyable text={receipt.hash} label={t("Copy hash")} room={room} />
      </Field>
      <Field name={t("Hash before")}>
        <Copyable text={receipt.prevHash} label={t("Copy hash before")} room={room} />
      </Field>
    </dl>
  );
}

/** Everything one receipt tells, and the tree it belongs to. */
export function ReceiptDetail({ room, id }: { room: WarRoom; id: string }): JSX.Element {
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
          room.bridge.call("receipts.get", { id }, stop.signal),
          inTree ? null : room.bridge.call("receipts.trace", { id }, stop.signal),
        ]);
        receipt.value = one;
        if (trace !== null) roots.value = trace.roots;
      } catch (error) {
        if (!isCancelled(error)) problem.value = problemOf(error);
      }
    };
    void read();
    // The receipt on show and its tree follow what happens.
    const off = room.bridge.onEvent((event) => {
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
  }, [id, room.store.generation.value]);

  const shown = receipt.value?.id === id ? receipt.value : null;
  return (
    <section class="detail" aria-label={t("Receipt")} aria-busy={shown === null && problem.value === null}>
      <div class="detail-heading">
        <h2 class="ellipsis">{shown?.actionName ?? t("Receipt")}</h2>
        <IconButton
          icon="close"
          label={t("Close the receipt")}
          onClick={() => {
            room.receipts.selected.value = null;
          }}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
      <div class="detail-body" tabIndex={0} role="region" aria-label={t("Fields of the receipt")}>
        {problem.value !== null && <Problem text={problem.value} />}
        {shown !== null && <Fields receipt={shown} room={room} />}
        {roots.value !== null && roots.value.length > 0 && (
          <>
            <h3>{t("Trace")}</h3>
            <TraceTree roots={roots.value} selected={id} onSelect={room.showReceipt} />
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

/** The tree with a receipt updated in its place, or added last under its parent. */
export function withReceipt(nodes: readonly TraceNode[], receipt: Receipt): TraceNode[] {
  return nodes.map((node) => {
    if (node.receipt.id === receipt.id) return { ...node, receipt };
    const children = withReceipt(node.children, receipt);
    const added = node.receipt.id === receipt.parentId && !contains(children, receipt.id);
    return { ...node, children: added ? [...children, { receipt, children: [] }] : children };
  });
}
