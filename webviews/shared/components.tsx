import { signal } from "@preact/signals";
import type { ComponentChildren, JSX, Ref } from "preact";
import type { Verdict } from "../../agent-server/contract/governance.ts";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import { formatDateTime, formatMoment, formatRelative, t } from "./l10n.ts";

type Tier = Receipt["riskTier"];

/** The current time for relative times; updates every 30 s while the page is visible. */
export const now = signal(Date.now());

export function startClock(): () => void {
  const tick = (): void => {
    if (document.visibilityState === "visible") now.value = Date.now();
  };
  const timer = setInterval(tick, 30_000);
  document.addEventListener("visibilitychange", tick);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", tick);
  };
}

/** A codicon. It is decorative: the adjacent text or the button's label carries the meaning. */
export function Icon({ name, spin }: { name: string; spin?: boolean }): JSX.Element {
  return <span class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`} aria-hidden="true" />;
}

interface ButtonProps {
  testId?: string;
  children: ComponentChildren;
  onClick: () => void;
  kind?: "primary" | "secondary" | "link";
  icon?: string;
  /** Shown as a key hint and set as `aria-keyshortcuts`. */
  shortcut?: string;
  title?: string;
  label?: string;
  describedBy?: string;
  disabled?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
}

export function Button(props: ButtonProps): JSX.Element {
  const { testId, children, onClick, kind = "secondary", icon, shortcut, title, label, describedBy, disabled, buttonRef } = props;
  return (
    <button
      type="button"
      data-testid={testId}
      class={`button ${kind}`}
      onClick={onClick}
      disabled={disabled ?? false}
      title={title}
      aria-label={label}
      aria-describedby={describedBy}
      aria-keyshortcuts={shortcut}
      ref={buttonRef ?? null}
    >
      {icon !== undefined && <Icon name={icon} />}
      <span>{children}</span>
      {shortcut !== undefined && (
        <kbd class="key" aria-hidden="true">
          {shortcut}
        </kbd>
      )}
    </button>
  );
}

interface IconButtonProps {
  testId?: string;
  icon: string;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
}

export function IconButton({ testId, icon, label, onClick, disabled, pressed, expanded, buttonRef }: IconButtonProps): JSX.Element {
  return (
    <button
      type="button"
      data-testid={testId}
      class="icon-button"
      title={label}
      aria-label={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      disabled={disabled ?? false}
      onClick={onClick}
      ref={buttonRef ?? null}
    >
      <Icon name={icon} />
    </button>
  );
}

/** A bordered section with a heading. */
export function Card(props: {
  icon?: string;
  heading: string;
  kind?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const { icon, heading, kind, aside, children } = props;
  return (
    <section class={`card ${kind ?? ""}`} aria-label={heading}>
      <div class="card-heading">
        {icon !== undefined && <Icon name={icon} />}
        <span class="card-title">{heading}</span>
        {aside}
      </div>
      {children}
    </section>
  );
}

export function tierMeaning(tier: Tier): string {
  switch (tier) {
    case "T0":
      return t("T0, inert: changes nothing");
    case "T1":
      return t("T1, reversible: can be undone");
    case "T2":
      return t("T2, controlled: runs within limits");
    case "T3":
      return t("T3, irreversible: requires approval");
  }
}

/** Marks a task that runs in crusader mode. */
export function CrusaderBadge(): JSX.Element {
  return (
    <span
      class="badge crusader"
      title={t("Lancelot applies the edits of this task after a checkpoint. You can undo them. Approvals and the soul still apply.")}
    >
      <Icon name="flame" />
      {t("Crusader")}
    </span>
  );
}

export function TierBadge({ tier }: { tier: Tier }): JSX.Element {
  return (
    <span class={`badge tier-${tier}`} title={tierMeaning(tier)}>
      {tier}
    </span>
  );
}

export function verdictText(verdict: Verdict): string {
  switch (verdict) {
    case "allow":
      return t("Allowed");
    case "ask":
      return t("Required approval");
    case "deny":
      return t("Denied");
  }
}

export function VerdictBadge({ verdict }: { verdict: Verdict }): JSX.Element {
  return <span class={`badge verdict-${verdict}`}>{verdictText(verdict)}</span>;
}

/** A relative time with the exact time as its tooltip. */
export function RelativeTime({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {formatRelative(at, now.value)}
    </time>
  );
}

export function Moment({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {formatMoment(at, now.value)}
    </time>
  );
}

export interface StateProps {
  readonly icon: string;
  readonly text: string;
  readonly kind?: string;
  readonly spin?: boolean;
  readonly quiet?: boolean;
}

/** A status as icon and text. `quiet` shows the text only to a screen reader. */
export function State(props: StateProps): JSX.Element {
  const { icon, text, kind, spin, quiet } = props;
  return (
    <span class={`state ${kind ?? ""}`} title={text}>
      <Icon name={icon} spin={spin ?? false} />
      <span class={quiet ? "sr-only" : ""}>{text}</span>
    </span>
  );
}

export function Problem({ text, children }: { text: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="problem" role="alert">
      <Icon name="error" />
      <span>{text}</span>
      {children}
    </div>
  );
}
