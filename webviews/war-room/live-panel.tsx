import type { ComponentChildren, JSX } from "preact";
import { commandAction } from "../shared/commands.ts";
import { Button, Icon, Problem } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import type { LiveQuery } from "./live-query.ts";
import type { WarRoom } from "./war-room-state.ts";

interface LivePanelProps<T> {
  warRoom: WarRoom;
  live: LiveQuery<T>;
  /** Name of the panel, for a screen reader. */
  label: string;
  /** A CSS class for styles of this panel. */
  className?: string;
  /** Describes how Lancelot works while the flag is off. */
  whenOff?: string;
  /** Content with its own data. It appears above and below while the host runs, even when this panel's data failed to load. */
  before?: ComponentChildren;
  after?: ComponentChildren;
  children: (value: T) => ComponentChildren;
}

/** Replaces the content of a list or panel that has nothing to show. */
export function Placeholder(props: { icon: string; title: string; text?: string; children?: ComponentChildren }): JSX.Element {
  const { icon, title, text, children } = props;
  return (
    <div class="nothing" data-testid={`placeholder:${icon}`}>
      <Icon name={icon} />
      <p>{title}</p>
      {text !== undefined && <p class="quiet">{text}</p>}
      {children}
    </div>
  );
}

/** A field of a detail pane. */
export function FieldRow({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="field-row">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Explains a disabled flag and offers to enable it. */
export function FlagOff({ warRoom, flag, text, whenOff }: { warRoom: WarRoom; flag: string; text: string; whenOff?: string }): JSX.Element {
  return (
    <Placeholder icon="circle-slash" title={text} {...(whenOff === undefined ? {} : { text: whenOff })}>
      <Button
        testId="turn-on-flag"
        icon="settings-gear"
        onClick={() => warRoom.bridge.ui(commandAction("setFlag", { name: flag, enabled: "true" }))}
      >
        {t("Turn On…")}
      </Button>
    </Placeholder>
  );
}

/**
 * The body of a panel with data from the host: loading, disabled, failed or loaded. Loaded content stays visible while it is read again.
 */
export function LivePanel<T>({ warRoom, live, label, className = "", whenOff, before, after, children }: LivePanelProps<T>): JSX.Element {
  const value = live.value.value;
  const problem = live.problem.value;
  const down = warRoom.bridge.host.value.state !== "ready";
  const body = (): ComponentChildren => {
    if (problem !== null && problem.flag !== null)
      return <FlagOff warRoom={warRoom} flag={problem.flag} text={problem.text} {...(whenOff === undefined ? {} : { whenOff })} />;
    if (value !== null) return children(value);
    if (problem !== null) return null;
    return <div class="nothing quiet">{down ? t("Start the agent host to see this content.") : t("Loading…")}</div>;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class={`live ${className}`} tabIndex={0} role="region" aria-label={label} aria-busy={live.loading.value && value === null}>
      {!down && before}
      {problem !== null && problem.flag === null && (
        <Problem text={problem.text}>
          <Button testId="try-again" onClick={live.refresh}>
            {t("Try Again")}
          </Button>
        </Problem>
      )}
      {body()}
      {!down && after}
    </div>
  );
}

/** Explains which content will appear and how. */
export function EmptyState({ icon, title, children }: { icon: string; title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty-state" data-testid={`empty:${icon}`}>
      <Icon name={icon} />
      <div>
        <p>{title}</p>
        <p class="quiet">{children}</p>
      </div>
    </div>
  );
}

/** A section of a panel with a heading. */
export function Block(props: {
  testId?: string;
  title: string;
  aside?: ComponentChildren;
  wide?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const { testId, title, aside, wide, children } = props;
  return (
    <section data-testid={testId} class={`block ${wide === true ? "wide" : ""}`} aria-label={title}>
      <div class="block-heading">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** A share of a whole as text and bar. The text carries the full meaning. */
export function Meter({ value, max, text, label }: { value: number; max: number; text: string; label: string }): JSX.Element {
  const share = max <= 0 ? 0 : Math.min(1, value / max);
  return (
    <span class="meter">
      <span>{text}</span>
      <span class="meter-bar" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={max} aria-valuenow={Math.min(value, max)}>
        <span style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}

export interface EmptyStateText {
  icon: string;
  title: string;
  text: string;
}

interface ListBlockProps<T> {
  title: string;
  items: readonly T[];
  /** Explains which content will appear and how. */
  empty: EmptyStateText;
  /** Renders the list when it is not empty. */
  children: (items: readonly T[]) => ComponentChildren;
}

/** A section with a list, or with an explanation while the list is empty. */
export function ListBlock<T>({ title, items, empty, children }: ListBlockProps<T>): JSX.Element {
  return (
    <Block title={title} wide>
      {items.length === 0 ? (
        <EmptyState icon={empty.icon} title={empty.title}>
          {empty.text}
        </EmptyState>
      ) : (
        children(items)
      )}
    </Block>
  );
}
