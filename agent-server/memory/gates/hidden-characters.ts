/** Emoji, flags, and joiners inside words of the scripts that need them. */
const needed =
  /\u{1f3f4}[\u{e0020}-\u{e007e}]{2,6}\u{e007f}|(?<=[\p{Extended_Pictographic}0-9#*])[\ufe0e\ufe0f]|(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])(?<!\p{Script=Latin})\u200d|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Syriac}\p{M}])\u200c/u;
/** Characters without a glyph that only a machine reads: tags, zero-width spaces, fillers, direction overrides. */
const invisible = new RegExp(`(${needed.source})|[\\p{Default_Ignorable_Code_Point}\\p{Cf}]`, "gu");
/** Terminal color codes, matched whole so that no rest hides the start of a token. */
const colours = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]{0,20}[A-Za-z]`, "g");
const controls = /[^\P{Cc}\t\n]/gu;

/** The text without invisible characters, with `\n` line ends and composed letters. `hidden`: the number of removed characters. */
export function cleanText(text: string): { text: string; hidden: number } {
  let hidden = 0;
  const visible = text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029\u0085\v\f]/g, "\n")
    .replace(invisible, (_whole, kept: string | undefined) => {
      if (kept !== undefined) return kept;
      hidden += 1;
      return "";
    });
  return { text: visible.replace(colours, "").replace(controls, "").normalize("NFC").trim(), hidden };
}
