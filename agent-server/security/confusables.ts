/**
 * Letters that look like Latin ones, by the letter they resemble. Compatibility forms (full width, mathematical, circled) are missing,
 * because NFKC converts them to plain letters first. Capitals that resemble another letter than their lower case are separate.
 */
const lookAlikes: Readonly<Record<string, string>> = {
  a: "аɑαаᴀаѧ",
  b: "вьβʙƅбᏏ",
  c: "сςᴄↄҫ",
  d: "ԁɗᴅđժ",
  e: "еєεҽᴇɛӗ",
  f: "ƒꜰғϝք",
  g: "ɡցɢǥ",
  h: "нһհʜħӊ",
  i: "іιɩıɪӏɨᛁ",
  j: "јϳᴊʝ",
  k: "кκᴋƙқ",
  l: "ⅼʟłɫӀ",
  m: "мᴍɱ",
  n: "пηոɴŋп",
  o: "оοօσᴏøөӧ",
  p: "рρᴘƥҏ",
  q: "ԛզϙգ",
  r: "гʀɾⲅ",
  s: "ѕꜱʂ",
  t: "тτᴛŧƭ",
  u: "υսᴜʉцμ",
  v: "νѵᴠᶌ",
  w: "ԝωᴡшա",
  x: "хχ×ҳ",
  y: "уγүʏɏӯ",
  z: "ᴢζʐƶ",
};

/** Capitals whose lower case resembles another letter, or none. */
const capitals: Readonly<Record<string, string>> = {
  A: "ΑᎪ",
  B: "ΒᏴ",
  C: "Ꮯ",
  D: "ᎠᗪⅮ",
  E: "ΕᎬ",
  G: "ᏀԌ",
  H: "ΗᎻ",
  I: "ΙӀ",
  J: "Ꭻ",
  K: "ΚᏦ",
  L: "Ꮮ",
  M: "ΜᎷ",
  N: "Ν",
  O: "Ο",
  P: "ΡᏢ",
  R: "ᎡᏒ",
  S: "ᏚᏕ",
  T: "ΤᎢ",
  V: "Ꮩ",
  W: "ᏔᎳ",
  X: "Χ",
  Y: "Υ",
  Z: "ΖᏃ",
};

const table = new Map<string, string>();
for (const [letter, alike] of Object.entries({ ...lookAlikes, ...capitals })) for (const one of alike) table.set(one, letter);

const candidates = new RegExp(`[${[...table.keys()].join("")}\\u{1F130}-\\u{1F189}\\u{1F1E6}-\\u{1F1FF}]`, "gu");

/** Boxed and regional indicator letters, which NFKC does not change. */
function boxed(code: number): string | null {
  for (const first of [0x1f130, 0x1f150, 0x1f170, 0x1f1e6]) {
    if (code >= first && code < first + 26) return String.fromCharCode(0x61 + code - first);
  }
  return null;
}

/**
 * Replaces each letter that resembles a Latin one with that letter. Texts that look alike have the same skeleton: compare skeletons, but
 * never display them.
 */
export function skeleton(text: string): string {
  return text.replace(candidates, (found) => table.get(found) ?? boxed(found.codePointAt(0) ?? 0) ?? found);
}
