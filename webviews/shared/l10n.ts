import { formatUsdAmount } from "../../agent-server/contract/amounts.ts";

let table: Readonly<Record<string, string>> = {};

/** Replaces the table of translated texts. Its keys are the English texts in the code. */
export function setTexts(texts: Readonly<Record<string, string>>): void {
  table = texts;
}

/** Returns the translation of an English text with `{0}`, `{1}`, … replaced by the arguments. */
export function t(text: string, ...args: readonly (string | number)[]): string {
  const template = table[text] ?? text;
  return template.replace(/\{(\d+)\}/g, (whole, index: string) => String(args[Number(index)] ?? whole));
}

/** Returns `one` for 1 and otherwise `many`; both may contain `{0}` for the number. */
export function count(n: number, one: string, many: string): string {
  return t(n === 1 ? one : many, formatNumber(n));
}

/** The display language, which VS Code sets on `<html lang>`. */
function locale(): string {
  return document.documentElement.lang || navigator.language || "en";
}

const formatters = new Map<string, Intl.DateTimeFormat | Intl.NumberFormat | Intl.RelativeTimeFormat>();

function cached<F extends Intl.DateTimeFormat | Intl.NumberFormat | Intl.RelativeTimeFormat>(name: string, make: (locale: string) => F): F {
  const key = `${name} ${locale()}`;
  const known = formatters.get(key);
  if (known !== undefined) return known as F;
  const made = make(locale());
  formatters.set(key, made);
  return made;
}

export function formatNumber(n: number): string {
  return cached("number", (at) => new Intl.NumberFormat(at)).format(n);
}

/** A share (0–1) as a whole percentage, such as `75%`. */
export function formatPercent(share: number): string {
  return cached("percent", (at) => new Intl.NumberFormat(at, { style: "percent", maximumFractionDigits: 0 })).format(share);
}

/** A short token count, such as `950` or `12.4K`. */
export function formatCompact(n: number): string {
  return cached("compact", (at) => new Intl.NumberFormat(at, { notation: "compact", maximumFractionDigits: 1 })).format(n);
}

/** An amount in US dollars, in cents; small amounts show more decimals. */
export function formatUsd(usd: number): string {
  return formatUsdAmount(usd, locale());
}

export function formatBytes(bytes: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const step = bytes < 1 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  const unit = units[step] ?? "gigabyte";
  return cached(
    unit,
    (at) => new Intl.NumberFormat(at, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: step > 2 ? 1 : 0 }),
  ).format(bytes / 1000 ** step);
}

/** Date and time with seconds, for tooltips and details. */
export function formatDateTime(iso: string): string {
  return cached("dateTime", (at) => new Intl.DateTimeFormat(at, { dateStyle: "medium", timeStyle: "medium" })).format(new Date(iso));
}

/** A short form of a day (YYYY-MM-DD, UTC) for an axis. */
export function formatDay(day: string): string {
  return cached("day", (at) => new Intl.DateTimeFormat(at, { month: "short", day: "numeric", timeZone: "UTC" })).format(
    new Date(`${day}T00:00:00Z`),
  );
}

/** The time for today; date and time for earlier days. */
export function formatMoment(iso: string, now: number): string {
  const then = new Date(iso);
  const sameDay = then.toDateString() === new Date(now).toDateString();
  return sameDay
    ? cached("time", (at) => new Intl.DateTimeFormat(at, { timeStyle: "medium" })).format(then)
    : cached("moment", (at) => new Intl.DateTimeFormat(at, { dateStyle: "short", timeStyle: "short" })).format(then);
}

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** A relative time in the user's language, such as `now`, `5 min. ago` or `in 4 min.`. */
export function formatRelative(iso: string, now: number): string {
  const difference = new Date(iso).getTime() - now;
  const format = cached("relative", (at) => new Intl.RelativeTimeFormat(at, { numeric: "auto", style: "short" }));
  for (const [unit, ms] of steps) {
    if (Math.abs(difference) >= ms) return format.format(Math.trunc(difference / ms), unit);
  }
  return format.format(0, "second");
}

/** A duration in its largest whole unit, such as `5 minutes`, `1 hour` or `90 seconds`. */
export function formatSpan(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const [unit, size] = (
    [
      ["day", 86_400],
      ["hour", 3600],
      ["minute", 60],
    ] as const
  ).find(([, of]) => seconds >= of && seconds % of === 0) ?? ["second", 1];
  return cached(`span ${unit}`, (at) => new Intl.NumberFormat(at, { style: "unit", unit, unitDisplay: "long" })).format(seconds / size);
}

/** A measured duration, such as `12 ms`, `3.4 s` or `2 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return t("{0} ms", formatNumber(Math.round(ms)));
  if (ms < 60_000) return t("{0} s", formatNumber(Math.round(ms / 100) / 10));
  return t("{0} min {1} s", formatNumber(Math.floor(ms / 60_000)), formatNumber(Math.round((ms % 60_000) / 1000)));
}
