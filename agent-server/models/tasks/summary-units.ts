/** A part of a text that is kept or omitted as a whole. */
export interface Unit {
  text: string;
  kind: "heading" | "sentence" | "item" | "code" | "log";
  /** Blank lines between units of one block stay where both stay. */
  block: number;
}

/** The middle of longer texts is dropped before they are examined (characters). */
const longest = 400_000;
const mostUnits = 4_000;

/** Sentences, list items, headings, code blocks and groups of log lines of a text, in order. Dots in names and numbers end no sentence. */
export function unitsOf(text: string): Unit[] {
  const read = text.length <= longest ? text : `${text.slice(0, longest * 0.6)}\n…\n${text.slice(-longest * 0.4)}`;
  const units: Unit[] = [];
  let block = 0;
  let fence: string[] | null = null;
  let paragraph: string[] = [];
  const endParagraph = () => {
    if (paragraph.length > 0)
      for (const sentence of sentencesOf(paragraph.join(" "))) units.push({ text: sentence, kind: "sentence", block });
    if (paragraph.length > 0) block++;
    paragraph = [];
  };
  for (const line of read.split(/\r?\n/)) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      endParagraph();
      if (fence === null) fence = [line];
      else {
        units.push({ text: [...fence, line].join("\n"), kind: "code", block: block++ });
        fence = null;
      }
    } else if (fence !== null) fence.push(line);
    else if (line.trim() === "") endParagraph();
    else if (/^#{1,6}\s|^[^.!?]{3,60}:$/.test(line)) {
      endParagraph();
      units.push({ text: line.trim(), kind: "heading", block });
    } else if (/^\s*(?:[-*+•]|\d{1,3}[.)]|\[[ x]\])\s/.test(line)) {
      endParagraph();
      units.push({ text: line.trim(), kind: "item", block });
    } else if (isMachineLine(line)) {
      endParagraph();
      units.push({ text: line.trim(), kind: "log", block });
    } else paragraph.push(line.trim());
  }
  endParagraph();
  if (fence !== null) units.push({ text: fence.join("\n"), kind: "code", block });
  return units.length <= mostUnits ? units : [...units.slice(0, mostUnits * 0.6), ...units.slice(-mostUnits * 0.4)];
}

function isMachineLine(line: string): boolean {
  return /^\s{4,}\S|^\s*at \S+|^\d{4}-\d\d-\d\d[T ]|^\[?(?:ERROR|WARN|INFO|DEBUG)\b|^\s*[|+>$] |^\S+:\d+(?::\d+)?:|;\s*$|[{}]\s*$/.test(
    line,
  );
}

/** Ends a sentence only before space and a capital, quote or list mark, and never after an abbreviation, initial or version. */
export function sentencesOf(paragraph: string): string[] {
  const sentences: string[] = [];
  let start = 0;
  for (const match of paragraph.matchAll(/[.!?]["')\]]*\s+(?=["'([`]*[\p{Lu}\p{N}\p{Lo}`*])|[。！？]/gu)) {
    const end = match.index + match[0].length;
    const before = paragraph.slice(start, match.index + 1);
    if (/(?:\b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Mrs|Ms|St|No|Nr|z\.B|bzw|ca|p\.ex|approx|resp|Fig|Inc|Ltd)|\b\p{Lu})\.$/u.test(before)) continue;
    sentences.push(paragraph.slice(start, end).trim());
    start = end;
  }
  const rest = paragraph.slice(start).trim();
  if (rest !== "") sentences.push(rest);
  return sentences;
}
