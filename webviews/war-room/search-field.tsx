import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button, Icon } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";

/** Milliseconds without typing before a search starts. */
const typingDelayMs = 200;

/** A search field that applies its text when the user stops typing. */
export function SearchField(props: { testId: string; label: string; value: string; onValue: (value: string) => void }): JSX.Element {
  const { testId, label, value, onValue } = props;
  const typed = useSignal(value);
  const applied = useRef(value);
  useEffect(() => {
    if (typed.value === applied.current) return undefined;
    const timer = setTimeout(() => {
      applied.current = typed.value;
      onValue(typed.value);
    }, typingDelayMs);
    return () => clearTimeout(timer);
  }, [typed.value]);
  useEffect(() => {
    // Only another value replaces the typed text: effects run late, after the first letters and after the next ones.
    if (value === applied.current) return;
    applied.current = value;
    typed.value = value;
  }, [value]);
  return (
    <input
      class="field"
      type="search"
      data-testid={testId}
      aria-label={label}
      placeholder={label}
      value={typed.value}
      onInput={(event) => {
        typed.value = event.currentTarget.value;
      }}
    />
  );
}

interface FilterBarProps {
  label: string;
  testId: string;
  query: string;
  onQuery: (query: string) => void;
  /** True while any filter is set. */
  filtered: boolean;
  onClear: () => void;
  children: ComponentChildren;
}

/** A search field with further filters and a button that clears them. */
export function FilterBar({ label, testId, query, onQuery, filtered, onClear, children }: FilterBarProps): JSX.Element {
  return (
    <div class="filters" role="search" aria-label={label}>
      <div class="filter-text">
        <Icon name="search" />
        <SearchField testId={testId} label={label} value={query} onValue={onQuery} />
      </div>
      {children}
      {filtered && (
        <Button testId="clear-filters" kind="link" icon="clear-all" onClick={onClear}>
          {t("Clear Filters")}
        </Button>
      )}
    </div>
  );
}
