import type { ComponentChildren, JSX } from "preact";
import { t } from "../shared/l10n.ts";

interface SegmentsProps<T> {
  label: string;
  options: readonly T[];
  value: T;
  onChange: (option: T) => void;
  text: (option: T) => ComponentChildren;
  /** Prefix of the buttons' test ids. */
  testId: string;
  class?: string;
}

/** A single choice of a few options, as a row of toggle buttons. */
export function Segments<T extends string | number>(props: SegmentsProps<T>): JSX.Element {
  const { label, options, value, onChange, text, testId } = props;
  return (
    <div class={props.class ?? "segments"} role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option}
          type="button"
          class="segment"
          data-testid={`${testId}:${option}`}
          aria-pressed={option === value}
          onClick={() => onChange(option)}
        >
          {text(option)}
        </button>
      ))}
    </div>
  );
}

interface DaysPickerProps {
  options: readonly number[];
  value: number;
  onChange: (days: number) => void;
}

/** The number of days that a panel covers. */
export function DaysPicker(props: DaysPickerProps): JSX.Element {
  return <Segments {...props} label={t("Period")} testId="days" text={(days) => t("{0} days", days)} />;
}
