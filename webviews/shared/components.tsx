import { signal } from "@preact/signals";
import type { ComponentChildren, JSX, Ref } from "preact";
import type { Verdict } from "../../agent-server/contract/governance.ts";
import type { Receipt } from "../../agent-server/contract/receipts.ts";
import { formatDateTime, formatMoment, formatRelative, t } from "./l10n.ts";

type Tier = Receipt["riskTier"];

/** The clock that relative times are read against; ticks every half minute while the page is visible. */
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

/** A codicon; decoration only, so the text beside it or the label of its button says what it means. */
export function Icon({ name, spin }: { name: string; spin?: boolean }): JSX.Element {
  return <span class={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`} aria-hidden="true" />;
}

interface ButtonProps {
  children: ComponentChildren;
  onClick: () => void;
  kind?: "primary" | "secondary" | "link";
  icon?: string;
  /** Shown as a hint and said by `aria-keyshortcuts`. */
  shortcut?: string;
  title?: string;
  label?: string;
  describedBy?: string;
  disabled?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
}

export function Button(props: ButtonProps): JSX.Element {
  const { children, onClick, kind = "secondary", icon, shortcut, title, label, describedBy, disabled, buttonRef } = props;
  return (
    <button
      type="button"
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
  icon: string;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
}

export function IconButton({ icon, label, onClick, disabled, pressed, expanded, buttonRef }: IconButtonProps): JSX.Element {
  return (
    <button
      type="button"
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

/** A bordered block that is found by its heading. */
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
      return t("T2, controlled: runs inside limits");
    case "T3":
      return t("T3, irreversible: asked first");
  }
}

/** Says that a task runs in crusader mode. */
export function CrusaderBadge(): JSX.Element {
  return (
    <span
      class="badge crusader"
      title={t("Edits of this task are applied after a checkpoint and can be undone. Approvals and the soul still hold.")}
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
      return t("allowed");
    case "ask":
      return t("asked you");
    case "deny":
      return t("denied");
  }
}

export function VerdictBadge({ verdict }: { verdict: Verdict }): JSX.Element {
  return <span class={`badge verdict-${verdict}`}>{verdictText(verdict)}</span>;
}

/** A time in words relative to now, with the exact time as its hint. */
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

/** A state as icon and words. The words are only for a screen reader when `quiet`. */
export function State(props: { icon: string; text: string; kind?: string; spin?: boolean; quiet?: boolean }): JSX.Element {
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
