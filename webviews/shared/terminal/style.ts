/** The sixteen colours a theme gives to terminals; brighter ones are `bright-…`. */
const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
type ColourName = (typeof names)[number];
export type Colour = ColourName | `bright-${ColourName}`;

/** How text of a terminal looks. Null colours are the theme's own. */
export interface Style {
  readonly fg: Colour | null;
  readonly bg: Colour | null;
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

/** What the sixteen look like in a common theme: only to find the nearest of them for a colour given in figures. */
const palette: readonly (readonly [Colour, number, number, number])[] = [
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

/** The theme's colour that is nearest to red, green and blue (0–255 each). */
export function nearestColour(r: number, g: number, b: number): Colour {
  let best: Colour = "white";
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

/** A colour of the table of 256: sixteen, a cube of 6 × 6 × 6, and 24 greys. */
function indexedColour(index: number): Colour | null {
  if (!(index >= 0 && index <= 255)) return null;
  if (index < 16) return palette[index]?.[0] ?? null;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return nearestColour(grey, grey, grey);
  }
  const level = (n: number): number => (n === 0 ? 0 : 55 + n * 40);
  const at = index - 16;
  return nearestColour(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

/** The colour after 38 or 48, and how many numbers it takes; a colour that cannot be read takes the rest. */
function extendedColour(numbers: readonly number[], at: number): { colour: Colour | null; taken: number } {
  if (numbers[at] === 5) return { colour: indexedColour(numbers[at + 1] ?? -1), taken: 2 };
  const [r, g, b] = numbers.slice(at + 1, at + 4);
  if (numbers[at] === 2 && r !== undefined && g !== undefined && b !== undefined) return { colour: nearestColour(r, g, b), taken: 4 };
  return { colour: null, taken: numbers.length - at };
}

function simple(style: Style, code: number): Style {
  const named = (index: number): ColourName => names[index] ?? "white";
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

/** Colons separate the parts of one value: `38:2::10:20:30` and `38:5:120` are colours, `4:0` no underline. */
function withColons(style: Style, parts: readonly number[]): Style {
  const [code = 0, kind, ...rest] = parts;
  if (code === 38 || code === 48) {
    // The colour space may be left out: the colour is what stands last.
    const { colour } = extendedColour(kind === 2 ? [2, ...rest.slice(-3)] : [kind ?? -1, ...rest], 0);
    if (colour === null) return style;
    return code === 38 ? { ...style, fg: colour } : { ...style, bg: colour };
  }
  if (code === 4) return { ...style, underline: kind !== 0 };
  return style;
}

/** The style after a *select graphic rendition* sequence with these parameters; what is not known changes nothing. */
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
      const { colour, taken } = extendedColour(numbers, at + 1);
      if (colour !== null) next = code === 38 ? { ...next, fg: colour } : { ...next, bg: colour };
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

/** Classes of a style; empty for plain text. */
export function classesOf({ fg, bg, bold, dim, italic, underline, inverse, struck }: Style): string {
  const list: string[] = [];
  if (inverse) {
    // Colours change places; the theme's own have classes for that.
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
