import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TraceNode } from "../../../agent-server/contract/receipts.ts";
import { Icon, State, TierBadge } from "../../shared/components.tsx";
import { formatDuration, t } from "../../shared/l10n.ts";
import { barOf, spanOf, treeKey, visibleLines } from "./trace.ts";
import { receiptState } from "./receipt-labels.ts";

interface TraceTreeProps {
  roots: readonly TraceNode[];
  selected: string;
  onSelect: (id: string) => void;
}

/** The causal tree of a trace with the duration of each receipt. */
export function TraceTree({ roots, selected, onSelect }: TraceTreeProps): JSX.Element {
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const tree = useRef<HTMLDivElement>(null);
  const span = useMemo(() => spanOf(roots), [roots]);
  const lines = visibleLines(roots, closed.value);
  const current = lines.some((line) => line.node.receipt.id === selected) ? selected : (lines[0]?.node.receipt.id ?? "");

  const fold = (id: string, shut: boolean): void => {
    const next = new Set(closed.peek());
    if (shut) next.add(id);
    else next.delete(id);
    closed.value = next;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = treeKey(event.key, lines, current, closed.peek());
    if (move === null) return;
    event.preventDefault();
    if (move.kind === "go") onSelect(move.id);
    else fold(move.id, move.kind === "close");
  };
  useEffect(() => {
    const box = tree.current;
    const line = box?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (box === null || line === null || line === undefined) return;
    // Scrolls only the tree; scrollIntoView would also scroll the pane around it.
    if (line.offsetTop < box.scrollTop) box.scrollTop = line.offsetTop;
    else if (line.offsetTop + line.offsetHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = line.offsetTop + line.offsetHeight - box.clientHeight;
    }
  }, [current]);

  return (
    <div
      class="trace"
      role="tree"
      ref={tree}
      tabIndex={0}
      aria-label={t("Trace")}
      aria-activedescendant={`trace-${current}`}
      onKeyDown={onKeyDown}
    >
      {lines.map(({ node, level, position, siblings }) => {
        const { receipt, children } = node;
        const { id } = receipt;
        const bar = barOf(node, span);
        const open = !closed.value.has(id);
        const duration = receipt.durationMs === null ? t("running") : formatDuration(receipt.durationMs);
        return (
          <div
            key={id}
            id={`trace-${id}`}
            class={`trace-line ${id === current ? "active" : ""}`}
            role="treeitem"
            aria-level={level}
            aria-posinset={position}
            aria-setsize={siblings}
            aria-selected={id === current}
            aria-expanded={children.length > 0 ? open : undefined}
            onClick={() => onSelect(id)}
          >
            <span class="trace-name" style={{ paddingInlineStart: `${(level - 1) * 14}px` }}>
              <span
                class="twistie"
                onClick={(event) => {
                  if (children.length === 0) return;
                  event.stopPropagation();
                  fold(id, open);
                }}
              >
                {children.length > 0 && <Icon name={open ? "chevron-down" : "chevron-right"} />}
              </span>
              <State {...receiptState(receipt.status)} quiet />
              <span class="ellipsis">{receipt.actionName}</span>
              <TierBadge tier={receipt.riskTier} />
            </span>
            <span class="timeline">
              <span class={`bar ${receipt.status}`} style={{ insetInlineStart: `${bar.left}%`, width: `${bar.width}%` }} />
            </span>
            <span class="trace-duration quiet">{duration}</span>
          </div>
        );
      })}
    </div>
  );
}
