import { elementScroll, observeElementOffset, observeElementRect, type VirtualItem, Virtualizer } from "@tanstack/virtual-core";
import type { JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

interface VirtualListProps {
  count: number;
  /** Row height in pixels; equal for all rows. */
  rowHeight: number;
  label: string;
  /** Index of the active row; -1 for none. */
  active: number;
  onActive: (index: number) => void;
  /** Called for Enter or a click. */
  onOpen: (index: number) => void;
  /** Called with the visible rows, so that the caller can load more. */
  onRange?: (first: number, last: number) => void;
  renderRow: (index: number) => JSX.Element;
  rowKey: (index: number) => string;
  id: string;
}

/** Returns the row that a key moves to; undefined for a key that does not move. */
export function rowForKey(key: string, active: number, count: number, pageRows: number): number | undefined {
  const clamp = (index: number): number => Math.max(0, Math.min(count - 1, index));
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowDown":
      return clamp(active + 1);
    case "ArrowUp":
      return clamp(active - 1);
    case "PageDown":
      return clamp(active + pageRows);
    case "PageUp":
      return clamp(active - pageRows);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}

/** A list box that keeps only the visible rows in the page. Tab reaches it once; the arrow keys move inside. */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, rowHeight, label, active, onActive, onOpen, onRange, renderRow, rowKey, id } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const virtualizer = useRef<Virtualizer<HTMLDivElement, Element>>(undefined);
  const estimateSize = useCallback(() => rowHeight, [rowHeight]);

  const options = {
    count,
    estimateSize,
    overscan: 8,
    getScrollElement: () => scroller.current,
    getItemKey: rowKey,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(undefined),
  };
  virtualizer.current ??= new Virtualizer(options);
  const list = virtualizer.current;
  list.setOptions(options);
  useEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => list._willUpdate());

  const items = list.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (count > 0) onRange?.(first, last);
  }, [first, last, count, onRange]);
  useLayoutEffect(() => {
    if (active >= 0 && active < count) list.scrollToIndex(active, { align: "auto" });
  }, [active, count, list]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && active >= 0) {
      event.preventDefault();
      onOpen(active);
      return;
    }
    const pageRows = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1);
    const next = rowForKey(event.key, active, count, pageRows);
    if (next === undefined) return;
    event.preventDefault();
    onActive(next);
  };

  const row = (item: VirtualItem): JSX.Element => (
    <div
      key={item.key}
      id={`${id}-${item.index}`}
      class={`virtual-row ${item.index === active ? "active" : ""}`}
      role="option"
      aria-selected={item.index === active}
      aria-posinset={item.index + 1}
      aria-setsize={count}
      style={{ transform: `translateY(${item.start}px)`, height: `${rowHeight}px` }}
      onClick={() => onOpen(item.index)}
    >
      {renderRow(item.index)}
    </div>
  );

  return (
    <div
      ref={scroller}
      class="virtual-list"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={active >= first && active <= last && count > 0 ? `${id}-${active}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div class="virtual-space" role="presentation" style={{ height: `${list.getTotalSize()}px` }}>
        {items.map(row)}
      </div>
    </div>
  );
}
