/**
 * Characters that show nothing and say something to a machine alone: tags, widthless spaces and joiners, overrides of direction.
 * Joiners inside words of scripts that need them (Persian, Hindi), emoji and flags are left.
 */
const hidden =
  /[\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|(?<![\p{Extended_Pictographic}0-9#*])[\ufe00-\ufe0f]|(?<![\p{L}\p{M}\p{Extended_Pictographic}\ufe0f])\u200d|(?<![\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Syriac}\p{M}])\u200c|(?<=\p{Script=Latin})\u200d/gu;
const flag = /\u{1f3f4}[\u{e0020}-\u{e007e}]{2,6}\u{e007f}/gu;
/** Colours of a terminal: whole, so that what is left of one does not hide the start of a token. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the escape character
const colours = /\u001b\[[0-9;?]{0,20}[A-Za-z]/g;
const controls = /[^\P{Cc}\t\n]/gu;

/** The text without what nobody sees, with line ends as `\n` and composed letters. `hidden`: how many characters were taken out. */
export function cleanText(text: string): { text: string; hidden: number } {
  const whole = text.toWellFormed().replace(/\r\n?|[\u2028\u2029\u0085\v\f]/g, "\n");
  let taken = 0;
  const without = (part: string): string =>
    part.replace(hidden, () => {
      taken += 1;
      return "";
    });
  let plain = "";
  let from = 0;
  for (const found of whole.matchAll(flag)) {
    plain += without(whole.slice(from, found.index)) + found[0];
    from = found.index + found[0].length;
  }
  plain += without(whole.slice(from));
  return { text: plain.replace(colours, "").replace(controls, "").normalize("NFC").trim(), hidden: taken };
}
