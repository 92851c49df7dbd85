import { estimateTokens } from "./estimate.ts";
import { isStopWord } from "./summary-stop-words.ts";
import { type Unit, unitsOf } from "./summary-units.ts";

interface Scored {
  unit: Unit;
  index: number;
  words: Set<string>;
  score: number;
  tokens: number;
}

/** Words of decisions, obligations, failures and results, which must not be lost. */
const weighty =
  /(?<![\p{L}])(?:decided|decision|agreed|must|never|always|only|not|don't|cannot|should|because|therefore|so that|instead|error|fail(?:s|ed|ure)?|bug|broken|fixed|fix|cause[ds]?|risk|warning|todo|next|open|blocked|result|important|note|deadline|breaking|requires?|approved|rejected|changed|added|removed|entschieden|muss|nie|immer|nicht|weil|fehler|behoben|décidé|doit|jamais|erreur|corrigé|decidido|debe|nunca|corregido|deciso|deve|mai|errore|решено|нельзя|ошибка|исправлено)(?![\p{L}])/giu;
const pathLike =
  /(?<![\w@.-]|[\w@.-]\/)(?:[\w@.-]{1,100}\/)+[\w.-]+|(?<![\w-])\b[\w-]{1,100}\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|c|h|cpp|cs|php|json|ya?ml|toml|md|sql|sh|css|html|txt|lock)\b/g;

/**
 * A summary of the text's own sentences: those that share most with the rest and contain facts (files, numbers, decisions), without repetition.
 * In their order, at most `maxTokens` tokens; files of omitted sentences are listed at the end.
 */
export function summarizeByRules(text: string, maxTokens: number): string {
  if (estimateTokens(text) <= maxTokens) return text.trim();
  const scored = score(unitsOf(text));
  const files = [...new Set(scored.flatMap(({ unit }) => unit.text.match(pathLike) ?? []))];
  const reserve = files.length === 0 ? 0 : Math.min(Math.floor(maxTokens * 0.12), 60);
  const chosen = choose(scored, maxTokens - reserve);
  let summary = join(chosen);
  const missing = files.filter((file) => !summary.includes(file));
  if (missing.length > 0) summary = withFiles(summary, missing, maxTokens);
  return summary === "" ? cut(text.trim(), maxTokens) : summary;
}

function score(units: readonly Unit[]): Scored[] {
  const wordSets = units.map(({ text }) => wordsOf(text));
  const frequency = new Map<string, number>();
  for (const words of wordSets) for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  return units.map((unit, index) => {
    const words = wordSets[index] ?? new Set<string>();
    let shared = 0;
    for (const word of words) shared += Math.log2(frequency.get(word) ?? 1);
    const counted = (pattern: RegExp) => Math.min(3, (unit.text.match(pattern) ?? []).length);
    const signs = counted(weighty) * 0.8 + counted(pathLike) + counted(/(?<![\w.])\d[\d.,:%]*\b/g) * 0.5;
    let score = words.size === 0 ? 0 : (0.6 * shared) / Math.sqrt(words.size + 4) + signs;
    // It contains neither a file nor a number nor a decision.
    if (signs === 0) score *= 0.6;
    if (index === 0) score += 1.5;
    if (index === units.length - 1) score += 0.2;
    if (unit.kind === "heading") score *= 0.5;
    if (unit.kind === "code") score *= 0.35;
    // The errors of a log.
    if (unit.kind === "log") score = /error|fail|fatal|exception|warn/i.test(unit.text) ? score + 0.8 : score * 0.05;
    return { unit, index, words, score, tokens: estimateTokens(unit.text) + 1 };
  });
}

/** The best sentences that fit, each scored against those already chosen. */
function choose(scored: readonly Scored[], maxTokens: number): Scored[] {
  const left = new Set(scored.filter(({ score, tokens }) => score > 0 && tokens <= maxTokens));
  const chosen: Scored[] = [];
  const covered = new Map<string, number>();
  let free = maxTokens;
  while (left.size > 0 && chosen.length < 400) {
    let best: { one: Scored; worth: number } | undefined;
    for (const one of left) {
      if (one.tokens > free) {
        left.delete(one);
        continue;
      }
      let repeated = 0;
      for (const word of one.words) if (covered.has(word)) repeated++;
      const share = one.words.size === 0 ? 1 : repeated / one.words.size;
      // Long sentences use the space of several.
      const worth = (one.score * (1 - share * share * 0.8)) / Math.sqrt(one.tokens + 10);
      if (best === undefined || worth > best.worth) best = { one, worth };
    }
    if (best === undefined || best.worth <= 0.01) break;
    left.delete(best.one);
    chosen.push(best.one);
    free -= best.one.tokens;
    for (const word of best.one.words) covered.set(word, (covered.get(word) ?? 0) + 1);
  }
  return chosen.toSorted((one, other) => one.index - other.index);
}

/** Sentences of one paragraph stay together; other units are on separate lines. */
function join(chosen: readonly Scored[]): string {
  let text = "";
  let before: Unit | undefined;
  for (const { unit } of chosen) {
    const together = before?.kind === "sentence" && unit.kind === "sentence" && before.block === unit.block;
    text += before === undefined ? unit.text : `${together ? " " : "\n"}${unit.text}`;
    before = unit;
  }
  return text;
}

function withFiles(summary: string, files: readonly string[], maxTokens: number): string {
  for (let count = Math.min(files.length, 30); count > 0; count--) {
    const more = files.length > count ? ` and ${files.length - count} more` : "";
    const text = `${summary}${summary === "" ? "" : "\n"}Also named: ${files.slice(0, count).join(", ")}${more}.`;
    if (estimateTokens(text) <= maxTokens) return text;
  }
  return summary;
}

/** The beginning, up to a word boundary, where not even one sentence fits. */
function cut(text: string, maxTokens: number): string {
  let end = Math.min(text.length, maxTokens * 4);
  while (end > 0) {
    const piece =
      text
        .slice(0, end)
        .replace(/(?<!\S)\S+$/, "")
        .trim() || text.slice(0, end);
    if (estimateTokens(`${piece} …`) <= maxTokens) return `${piece} …`;
    end = Math.floor(end * 0.8);
  }
  return "";
}

/** Content words, in lowercase. */
export function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+(?:[./-][\p{L}\p{N}_]+)*/gu) ?? [];
  return new Set(words.filter((word) => word.length > 2 && /\p{L}{2}/u.test(word) && !isStopWord(word)));
}
