import type { ComponentChildren, JSX } from "preact";
import { commandAction } from "../shared/commands.ts";
import { Button, Icon, Problem } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import type { Live } from "./live.ts";
import type { WarRoom } from "./state.ts";

interface LivePanelProps<T> {
  room: WarRoom;
  live: Live<T>;
  /** Name of the panel, for a screen reader. */
  label: string;
  /** A class for what is special in it. */
  look?: string;
  /** What is left while the flag is off, in a sentence. */
  whenOff?: string;
  /** What is read by itself: shown above and below while the host runs, whatever became of the rest. */
  before?: ComponentChildren;
  after?: ComponentChildren;
  children: (value: T) => ComponentChildren;
}

/** A flag is off: what that means, and the way to switch it on. */
export function FlagOff({ room, flag, text, whenOff }: { room: WarRoom; flag: string; text: string; whenOff?: string }): JSX.Element {
  return (
    <div class="nothing">
      <Icon name="circle-slash" />
      <p>{text}</p>
      {whenOff !== undefined && <p class="quiet">{whenOff}</p>}
      <Button icon="settings-gear" onClick={() => room.bridge.ui(commandAction("setFlag", { name: flag, enabled: "true" }))}>
        {t("Switch on…")}
      </Button>
    </div>
  );
}

/** The body of a panel that is read from the host: loading, off, failed, or its content, which stays on screen while it is read again. */
export function LivePanel<T>({ room, live, label, look = "", whenOff, before, after, children }: LivePanelProps<T>): JSX.Element {
  const value = live.value.value;
  const problem = live.problem.value;
  const down = room.bridge.host.value.state !== "ready";
  const body = (): ComponentChildren => {
    if (problem !== null && problem.flag !== null)
      return <FlagOff room={room} flag={problem.flag} text={problem.text} {...(whenOff === undefined ? {} : { whenOff })} />;
    if (value !== null) return children(value);
    if (problem !== null) return null;
    return <div class="nothing quiet">{down ? t("This is read when the agent host runs.") : t("Loading…")}</div>;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard
    <div class={`live ${look}`} tabIndex={0} role="region" aria-label={label} aria-busy={live.loading.value && value === null}>
      {!down && before}
      {problem !== null && problem.flag === null && (
        <Problem text={problem.text}>
          <Button onClick={live.refresh}>{t("Try again")}</Button>
        </Problem>
      )}
      {body()}
      {!down && after}
    </div>
  );
}

/** What will appear here, and how. */
export function Empty({ icon, title, children }: { icon: string; title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty-state">
      <Icon name={icon} />
      <div>
        <p>{title}</p>
        <p class="quiet">{children}</p>
      </div>
    </div>
  );
}

/** A block of a panel under its heading. */
export function Block(props: { title: string; aside?: ComponentChildren; wide?: boolean; children: ComponentChildren }): JSX.Element {
  const { title, aside, wide, children } = props;
  return (
    <section class={`block ${wide === true ? "wide" : ""}`} aria-label={title}>
      <div class="block-heading">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** A share of a whole as text and bar; the text says it all. */
export function Meter({ value, most, text, label }: { value: number; most: number; text: string; label: string }): JSX.Element {
  const share = most <= 0 ? 0 : Math.min(1, value / most);
  return (
    <span class="meter">
      <span>{text}</span>
      <span class="meter-bar" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={most} aria-valuenow={Math.min(value, most)}>
        <span style={{ width: `${share * 100}%` }} />
      </span>
    </span>
  );
}
