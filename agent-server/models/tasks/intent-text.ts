/** Long texts are reduced to beginning and end, since requests are there and pasted text is between (characters). */
const ends = { head: 700, tail: 500 };
/** Nothing beyond this is examined, from either end (characters). */
const looked = 20_000;

/** Lines of machine output: stack frames, timestamps and levels of logs, compiler output, shell prompts, progress. */
const machineLine =
  /^(?:at .+[):]\d*\)?$|File "[^"]+", line \d+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:ERROR|WARN|INFO|DEBUG|TRACE|FATAL)\b|\S+:\d+:\d+|\S+\(\d+,\d+\):|-->|\d*\s*\||[$>#]\s|npm (?:ERR|WARN)|Traceback|Caused by:|\.{3} \d+ more|[-=_*+~^|][-=_*+~^|\s]{3,}$|[{}[\]();,]+$|FAILED\b|fatal:|error(?:\[E?\d+\])?:|\w*(?:Error|Exception)\b.{0,4}:)/;

/**
 * The user's own words in a message, without fenced code, stack traces and logs. Empty where there are none. `pasted`: something was left out.
 */
export function requestPart(text: string): { words: string; pasted: boolean } {
  const bounds = text.length <= 2 * looked ? text : `${text.slice(0, looked)}\n${text.slice(-looked)}`;
  const whole = bounds.normalize("NFKC").replaceAll("\r", "");
  const unfenced = whole.replaceAll(/```[\s\S]*?(?:```|$)/g, "\n");
  const lines = unfenced.split("\n");
  const kept =
    lines.length === 1 ? lines : lines.filter((line) => !machineLine.test(line.slice(0, 300).trimStart()) && !/^\s{4,}\S/.test(line));
  const words = kept.join("\n").replaceAll(/\s+/g, " ").trim();
  const bounded = words.length <= ends.head + ends.tail ? words : `${words.slice(0, ends.head)} … ${words.slice(-ends.tail)}`;
  return { words: bounded, pasted: kept.length < lines.length || unfenced !== whole };
}

const sentenceEnds = /(?<=[.!?;:。！？])\s*|,\s+|，/u;
const joints =
  /(?<!\s)\s+(?:(?:and|then|but|und|dann|aber|sondern|et|puis|mais|y|luego|pero|e|poi|ma|depois|mas|en|и|&|-)\s+)+|^(?:then|dann|puis|luego|poi|depois)\s+/iu;

/** Clauses that may each request something. */
export function clausesOf(words: string): string[] {
  return words
    .split(sentenceEnds)
    .flatMap((sentence) => sentence.split(joints))
    .map((clause) => clause.trim())
    .filter((clause) => clause !== "");
}
