import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect } from "preact/hooks";
import type { Signal } from "@preact/signals";
import { Button, IconButton, Problem } from "../../shared/components.tsx";
import { count, t } from "../../shared/l10n.ts";
import { VirtualList } from "../../shared/virtual-list.tsx";
import type { Pages } from "./pages.ts";

interface SplitProps<T> {
  id: string;
  label: string;
  pages: Pages<T>;
  keyOf: (item: T) => string;
  /** Pixels. */
  rowHeight: number;
  row: (item: T) => JSX.Element;
  /** The key of what is on show; null for nothing. */
  selected: Signal<string | null>;
  /** What will appear here, and how. */
  nothing: JSX.Element;
  /** The number of what is read, in words. */
  countText: (n: number) => string;
  /** What is on show, under its heading. */
  detail: { heading: string; body: ComponentChildren } | null;
  /** What the list is narrowed to: a list of something else begins at its top. */
  of?: string;
  /** A key that was pressed in the list, for what only this list can do. */
  onKey?: (event: KeyboardEvent) => void;
  before?: ComponentChildren;
}

/** A list that may be long, and beside it, or below it where there is no room, what is chosen in it. */
export function Split<T>(props: SplitProps<T>): JSX.Element {
  const { id, label, pages, keyOf, rowHeight, row, selected, nothing, countText, detail, of, onKey, before } = props;
  const items = pages.items.value;
  const cursor = useSignal<string | null>(selected.value);
  useEffect(() => {
    cursor.value = selected.value;
  }, [selected.value]);
  const active = cursor.value === null ? -1 : items.findIndex((item) => keyOf(item) === cursor.value);
  const onRange = useCallback((_: number, last: number) => pages.needRow(last), [pages]);
  const choose = (index: number): string | null => {
    const item = items[index];
    return item === undefined ? null : keyOf(item);
  };
  const problem = pages.problem.value;
  return (
    <div class={`receipts ${detail === null ? "" : "with-detail"}`}>
      {before}
      <div class="split">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: keys of the list inside it */}
        <div class="list-side" onKeyDown={onKey}>
          {problem !== null && (
            <Problem text={problem.text}>
              <Button onClick={() => pages.reload()}>{t("Try again")}</Button>
            </Problem>
          )}
          {items.length > 0 ? (
            <VirtualList
              key={of}
              id={id}
              label={label}
              count={items.length}
              rowHeight={rowHeight}
              active={active}
              onActive={(index) => {
                cursor.value = choose(index);
                // With the detail open, the arrows read on through the list.
                if (selected.peek() !== null) selected.value = cursor.value;
              }}
              onOpen={(index) => {
                selected.value = choose(index);
              }}
              onRange={onRange}
              rowKey={(index) => choose(index) ?? String(index)}
              renderRow={(index) => {
                const item = items[index];
                return item === undefined ? <div /> : row(item);
              }}
            />
          ) : (
            problem === null && (pages.loaded.value ? nothing : <div class="nothing quiet">{t("Loading…")}</div>)
          )}
          <div class="list-foot quiet" role="status">
            {items.length > 0 &&
              (pages.loading.value && pages.more.value
                ? t("Loading more…")
                : pages.more.value
                  ? t("{0} and more", countText(items.length))
                  : countText(items.length))}
          </div>
        </div>
        {detail !== null && (
          <section class="detail" aria-label={t("On show")}>
            <div class="detail-heading">
              <h2 class="ellipsis">{detail.heading}</h2>
              <IconButton
                icon="close"
                label={t("Close")}
                onClick={() => {
                  selected.value = null;
                }}
              />
            </div>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
            <div class="detail-body" tabIndex={0} role="region" aria-label={detail.heading}>
              {detail.body}
            </div>
          </section>
        )}
      </div>
    </div>
  );
}

export function itemsText(n: number): string {
  return count(n, "{0} item", "{0} items");
}
