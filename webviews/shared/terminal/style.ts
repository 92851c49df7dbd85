/** The 16 terminal colors of a theme; the bright ones are `bright-…`. */
const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
type ColorName = (typeof names)[number];
export type Color = ColorName | `bright-${ColorName}`;

/** The style of terminal text. A null color is the theme's default. */
export interface Style {
  readonly fg: Color | null;
  readonly bg: Color | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly inverse: boolean;
  readonly struck: boolean;
}

export const plainStyle: Style = {
  fg: null,
  bg: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
  struck: false,
};

/** Typical values of the 16 colors, used only to find the nearest one for an RGB color. */
const palette: readonly (readonly [Color, number, number, number])[] = [
  ["black", 0, 0, 0],
  ["red", 205, 49, 49],
  ["green", 13, 188, 121],
  ["yellow", 229, 229, 16],
  ["blue", 36, 114, 200],
  ["magenta", 188, 63, 188],
  ["cyan", 17, 168, 205],
  ["white", 229, 229, 229],
  ["bright-black", 102, 102, 102],
  ["bright-red", 241, 76, 76],
  ["bright-green", 35, 209, 139],
  ["bright-yellow", 245, 245, 67],
  ["bright-blue", 59, 142, 234],
  ["bright-magenta", 214, 112, 214],
  ["bright-cyan", 41, 184, 219],
  ["bright-white", 255, 255, 255],
];

/** Returns the theme color nearest to an RGB color (0–255 each). */
export function nearestColor(r: number, g: number, b: number): Color {
  let best: Color = "white";
  let least = Number.POSITIVE_INFINITY;
  for (const [name, pr, pg, pb] of palette) {
    const distance = (r - pr) ** 2 * 2 + (g - pg) ** 2 * 4 + (b - pb) ** 2 * 3;
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

/** A color of the 256-color table: 16 colors, a 6 × 6 × 6 cube and 24 grays. */
function indexedColor(index: number): Color | null {
  if (!(index >= 0 && index <= 255)) return null;
  if (index < 16) return palette[index]?.[0] ?? null;
  if (index >= 232) {
    const gray = 8 + (index - 232) * 10;
    return nearestColor(gray, gray, gray);
  }
  const level = (n: number): number => (n === 0 ? 0 : 55 + n * 40);
  const at = index - 16;
  return nearestColor(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

/** Parses the color after 38 or 48 and returns how many numbers it used. An invalid color uses all remaining numbers. */
function extendedColor(numbers: readonly number[], at: number): { color: Color | null; taken: number } {
  if (numbers[at] === 5) return { color: indexedColor(numbers[at + 1] ?? -1), taken: 2 };
  const [r, g, b] = numbers.slice(at + 1, at + 4);
  if (numbers[at] === 2 && r !== undefined && g !== undefined && b !== undefined) return { color: nearestColor(r, g, b), taken: 4 };
  return { color: null, taken: numbers.length - at };
}

function simple(style: Style, code: number): Style {
  const named = (index: number): ColorName => names[index] ?? "white";
  if (code >= 30 && code <= 37) return { ...style, fg: named(code - 30) };
  if (code >= 40 && code <= 47) return { ...style, bg: named(code - 40) };
  if (code >= 90 && code <= 97) return { ...style, fg: `bright-${named(code - 90)}` };
  if (code >= 100 && code <= 107) return { ...style, bg: `bright-${named(code - 100)}` };
  switch (code) {
    case 0:
      return plainStyle;
    case 1:
      return { ...style, bold: true };
    case 2:
      return { ...style, dim: true };
    case 3:
      return { ...style, italic: true };
    case 4:
    case 21:
      return { ...style, underline: true };
    case 7:
      return { ...style, inverse: true };
    case 9:
      return { ...style, struck: true };
    case 22:
      return { ...style, bold: false, dim: false };
    case 23:
      return { ...style, italic: false };
    case 24:
      return { ...style, underline: false };
    case 27:
      return { ...style, inverse: false };
    case 29:
      return { ...style, struck: false };
    case 39:
      return { ...style, fg: null };
    case 49:
      return { ...style, bg: null };
    default:
      return style;
  }
}

/** Colons separate the parts of one value: `38:2::10:20:30` and `38:5:120` are colors, `4:0` ends underlining. */
function withColons(style: Style, parts: readonly number[]): Style {
  const [code = 0, kind, ...rest] = parts;
  if (code === 38 || code === 48) {
    // The color space is optional, so the color is the last three parts.
    const { color } = extendedColor(kind === 2 ? [2, ...rest.slice(-3)] : [kind ?? -1, ...rest], 0);
    if (color === null) return style;
    return code === 38 ? { ...style, fg: color } : { ...style, bg: color };
  }
  if (code === 4) return { ...style, underline: kind !== 0 };
  return style;
}

/** Returns the style after a *select graphic rendition* sequence. Ignores unknown codes. */
export function applyStyle(style: Style, parameters: string): Style {
  let next = style;
  let numbers: number[] = [];
  const flush = (): void => {
    for (let at = 0; at < numbers.length; at += 1) {
      const code = numbers[at] ?? 0;
      if (code !== 38 && code !== 48) {
        next = simple(next, code);
        continue;
      }
      const { color, taken } = extendedColor(numbers, at + 1);
      if (color !== null) next = code === 38 ? { ...next, fg: color } : { ...next, bg: color };
      at += taken;
    }
    numbers = [];
  };
  for (const value of parameters.split(";")) {
    if (value.includes(":")) {
      flush();
      next = withColons(
        next,
        value.split(":").map((part) => Number.parseInt(part || "0", 10)),
      );
    } else numbers.push(value === "" ? 0 : Number.parseInt(value, 10));
  }
  flush();
  return next;
}

/** Returns the CSS classes of a style; empty for plain text. */
export function classesOf({ fg, bg, bold, dim, italic, underline, inverse, struck }: Style): string {
  const list: string[] = [];
  if (inverse) {
    // Foreground and background swap; the theme's default colors have their own classes.
    list.push("ansi-inverse", `ansi-on-${fg ?? "default"}`);
  } else {
    if (fg !== null) list.push(`ansi-fg-${fg}`);
    if (bg !== null) list.push(`ansi-bg-${bg}`);
  }
  if (bold) list.push("ansi-bold");
  if (dim) list.push("ansi-dim");
  if (italic) list.push("ansi-italic");
  if (underline || struck) list.push(`ansi-${underline ? "under" : ""}${struck ? "struck" : ""}`);
  return list.join(" ");
}
