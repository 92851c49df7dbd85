import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { formatNumber, formatPercent, t } from "../shared/l10n.ts";

/** A part of a stacked chart. `pattern` distinguishes it without color. */
export interface Part {
  readonly key: string;
  readonly name: string;
  readonly pattern: "plain" | "dots" | "lines" | "cross";
  readonly value: number;
}

export interface Column {
  readonly label: string;
  readonly parts: readonly Part[];
}

export function totalOf(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + part.value, 0);
}

/** Describes a chart as text, such as `allowed 12, asked you 3`. */
export function partsText(parts: readonly Part[], format = formatNumber): string {
  return parts
    .filter((part) => part.value > 0)
    .map((part) => `${part.name} ${format(part.value)}`)
    .join(", ");
}

export interface Segment {
  readonly part: Part;
  /** Start of the segment as a share of the whole (0–1). */
  readonly from: number;
  readonly share: number;
}

/** Returns the start and share of each part, without empty parts. */
export function segmentsOf(parts: readonly Part[], whole: number): Segment[] {
  let from = 0;
  const segments: Segment[] = [];
  for (const part of parts) {
    if (part.value <= 0 || whole <= 0) continue;
    const share = part.value / whole;
    segments.push({ part, from, share });
    from += share;
  }
  return segments;
}

const roundSteps = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

/** Rounds up to a round whole number, for the top of an axis. */
export function roundUp(n: number): number {
  if (n <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  const steps = power === 1 ? roundSteps.filter(Number.isInteger) : roundSteps;
  return (steps.find((step) => step * power >= n) ?? 10) * power;
}

/** Rounds up to a round number, which may be below 1. */
export function roundUpFraction(n: number): number {
  if (n <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return (roundSteps.find((step) => step * power >= n) ?? 10) * power;
}

/** Patterns that are drawn over the fill color. */
function Patterns({ id }: { id: string }): JSX.Element {
  return (
    <defs>
      <pattern id={`${id}-dots`} width="6" height="6" patternUnits="userSpaceOnUse">
        <circle cx="3" cy="3" r="1.3" class="pattern-ink" />
      </pattern>
      <pattern id={`${id}-lines`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="2" height="6" class="pattern-ink" />
      </pattern>
      <pattern id={`${id}-cross`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="2" height="6" class="pattern-ink" />
        <rect width="6" height="2" class="pattern-ink" />
      </pattern>
    </defs>
  );
}

function Area(props: {
  id: string;
  part: Part;
  x: string | number;
  y: string | number;
  width: string | number;
  height: string | number;
}): JSX.Element {
  const { id, part, ...box } = props;
  return (
    <>
      <rect {...box} class={`part part-${part.key}`} />
      {part.pattern !== "plain" && <rect {...box} fill={`url(#${id}-${part.pattern})`} />}
    </>
  );
}

function Swatch({ part }: { part: Part }): JSX.Element {
  const id = useId();
  return (
    <svg class="swatch" width="12" height="12" aria-hidden="true">
      <Patterns id={id} />
      <Area id={id} part={part} x={0} y={0} width={12} height={12} />
    </svg>
  );
}

interface ShareBarProps {
  parts: readonly Part[];
  label: string;
  onPick?: (key: string) => void;
  /** Formats an amount. */
  format?: (value: number) => string;
}

/** A bar divided into shares, with a legend of the numbers. `onPick` turns the legend entries into links. */
export function ShareBar({ parts, label, onPick, format = formatNumber }: ShareBarProps): JSX.Element {
  const id = useId();
  const whole = totalOf(parts);
  return (
    <figure class="chart">
      <svg class="share-bar" role="img" aria-label={`${label}: ${partsText(parts, format)}`} width="100%" height="18">
        <Patterns id={id} />
        {segmentsOf(parts, whole).map(({ part, from, share }) => (
          <Area key={part.key} id={id} part={part} x={`${from * 100}%`} y={0} width={`${share * 100}%`} height={18} />
        ))}
      </svg>
      <ul class="legend">
        {parts.map((part) => (
          <li key={part.key}>
            <Swatch part={part} />
            {onPick === undefined ? (
              <span>{part.name}</span>
            ) : (
              <button
                data-testid={`legend:${part.key}`}
                type="button"
                class="button link"
                title={t("Show receipts of this tier")}
                onClick={() => onPick(part.key)}
              >
                {part.name}
              </button>
            )}
            <strong>{format(part.value)}</strong>
            <span class="quiet">{whole === 0 ? "" : formatPercent(part.value / whole)}</span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

const chartHeight = 120;
const axisHeight = 18;

interface StackedColumnsProps {
  columns: readonly Column[];
  label: string;
  /** Formats an amount. */
  format?: (value: number) => string;
  /** True for amounts such as money, whose axis may end below 1. */
  fractions?: boolean;
}

/** Stacked columns, one per day. A table below repeats the numbers for screen readers. */
export function StackedColumns({ columns, label, format = formatNumber, fractions = false }: StackedColumnsProps): JSX.Element {
  const id = useId();
  const highest = Math.max(0, ...columns.map(({ parts }) => totalOf(parts)));
  const top = fractions ? roundUpFraction(highest) : roundUp(highest);
  const step = 100 / Math.max(1, columns.length);
  const every = Math.ceil(columns.length / 6);
  const keys = columns[0]?.parts ?? [];
  return (
    <figure class="chart">
      <svg class="columns" role="img" aria-label={label} width="100%" height={chartHeight + axisHeight}>
        <Patterns id={id} />
        <line x1="0" x2="100%" y1="0.5" y2="0.5" class="grid-line" />
        <line x1="0" x2="100%" y1={chartHeight / 2} y2={chartHeight / 2} class="grid-line" />
        <line x1="0" x2="100%" y1={chartHeight - 0.5} y2={chartHeight - 0.5} class="axis-line" />
        <text x="2" y="12" class="axis-text">
          {format(top)}
        </text>
        {columns.map((column, index) => (
          <g key={column.label}>
            <title>{`${column.label}: ${partsText(column.parts, format) || t("nothing")}`}</title>
            <rect x={`${index * step}%`} y={0} width={`${step}%`} height={chartHeight} fill="transparent" />
            {segmentsOf(column.parts, top).map(({ part, from, share }) => (
              <Area
                key={part.key}
                id={id}
                part={part}
                x={`${index * step + step * 0.2}%`}
                y={chartHeight * (1 - from - share)}
                width={`${step * 0.6}%`}
                height={chartHeight * share}
              />
            ))}
            {index % every === 0 && (
              <text x={`${(index + 0.5) * step}%`} y={chartHeight + 14} text-anchor="middle" class="axis-text">
                {column.label}
              </text>
            )}
          </g>
        ))}
      </svg>
      <ul class="legend">
        {keys.map((part) => (
          <li key={part.key}>
            <Swatch part={part} />
            <span>{part.name}</span>
          </li>
        ))}
      </ul>
      <details class="chart-table">
        <summary>{t("Show as Table")}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keyboard */}
        <div class="table-scroll" tabIndex={0} role="region" aria-label={t("{0} (table)", label)}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{t("Day")}</th>
                {keys.map((part) => (
                  <th key={part.key} scope="col" class="number">
                    {part.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {columns.map((column) => (
                <tr key={column.label}>
                  <th scope="row">{column.label}</th>
                  {column.parts.map((part) => (
                    <td key={part.key} class="number">
                      {format(part.value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
