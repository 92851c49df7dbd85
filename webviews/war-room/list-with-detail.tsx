import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect } from "preact/hooks";
import type { Signal } from "@preact/signals";
import { Button, IconButton, Problem } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import { VirtualList } from "../shared/virtual-list.tsx";
import type { PagedList } from "./paged-list.ts";

interface ListWithDetailProps<T> {
  id: string;
  label: string;
  pages: PagedList<T>;
  keyOf: (item: T) => string;
  /** Row height in pixels. */
  rowHeight: number;
  row: (item: T) => JSX.Element;
  /** Key of the selected item; null for none. */
  selected: Signal<string | null>;
  /** Explains which content will appear and how. */
  empty: JSX.Element;
  /** Returns the number of loaded items as text. */
  countText: (n: number) => string;
  /** The selected item with its heading. */
  detail: { heading: string; body: ComponentChildren } | null;
  /** Identifies the filters of the list: another value scrolls to the top. */
  filterKey?: string;
  /** Handles keys that are specific to this list. */
  onKey?: (event: KeyboardEvent) => void;
  before?: ComponentChildren;
}

/** A virtual list with a detail pane beside it, or below it in a narrow window. */
export function ListWithDetail<T>(props: ListWithDetailProps<T>): JSX.Element {
  const { id, label, pages, keyOf, rowHeight, row, selected, empty, countText, detail, filterKey, onKey, before } = props;
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
              <Button testId="try-again" onClick={() => pages.reload()}>
                {t("Try Again")}
              </Button>
            </Problem>
          )}
          {items.length > 0 ? (
            <VirtualList
              key={filterKey}
              id={id}
              label={label}
              count={items.length}
              rowHeight={rowHeight}
              active={active}
              onActive={(index) => {
                cursor.value = choose(index);
                // While the detail is open, the arrow keys select the next item.
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
            problem === null && (pages.loaded.value ? empty : <div class="nothing quiet">{t("Loading…")}</div>)
          )}
          <div class="list-foot quiet" role="status">
            {items.length > 0 &&
              (pages.loading.value && pages.more.value
                ? t("Loading more…")
                : pages.more.value
                  ? t("At least {0}", countText(items.length))
                  : countText(items.length))}
          </div>
        </div>
        {detail !== null && (
          <section class="detail" aria-label={t("Details")}>
            <div class="detail-heading">
              <h2 class="ellipsis">{detail.heading}</h2>
              <IconButton
                testId="close-detail"
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
