/**
 * Letters that look like Latin ones, by what they look like. Compatibility forms (full width, mathematical, circled) are not
 * here: NFKC has turned them into plain letters before. Lower case; capitals that look different from their small form stand apart.
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

/** Capitals whose small form looks like another letter, or like none. */
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

/** Letters in boxes and flags, which NFKC leaves alone. */
function boxed(code: number): string | null {
  for (const first of [0x1f130, 0x1f150, 0x1f170, 0x1f1e6]) {
    if (code >= first && code < first + 26) return String.fromCharCode(0x61 + code - first);
  }
  return null;
}

/**
 * The skeleton of a text: each letter that looks like a Latin one replaced by that one. Two texts that look alike have the same
 * skeleton, so compare skeletons and never show them.
 */
export function skeleton(text: string): string {
  return text.replace(candidates, (found) => table.get(found) ?? boxed(found.codePointAt(0) ?? 0) ?? found);
}
