import { elementScroll, observeElementOffset, observeElementRect, type VirtualItem, Virtualizer } from "@tanstack/virtual-core";
import type { JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

interface VirtualListProps {
  count: number;
  /** Pixels; every row has the same height. */
  rowHeight: number;
  label: string;
  /** Row that the keyboard stands on; -1 for none. */
  active: number;
  onActive: (index: number) => void;
  /** Enter or a click. */
  onOpen: (index: number) => void;
  /** Rows that are on screen, so that more can be fetched. */
  onRange?: (first: number, last: number) => void;
  renderRow: (index: number) => JSX.Element;
  rowKey: (index: number) => string;
  id: string;
}

/** The row that a key leads to from `active`; undefined for a key that does not move. */
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

/** A list box that keeps only the rows on screen in the page; one stop for Tab, arrows within. */
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
