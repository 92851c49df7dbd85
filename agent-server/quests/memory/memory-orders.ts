import { memoryForms } from "./memory-phrases.ts";

/** What the owner orders of memory in a message. */
export interface MemoryOrder {
  readonly kind: "remember" | "forget" | "show";
  /** What is meant, in the owner's own words; of `show` empty when nothing is named. */
  readonly text: string;
  /** It may be said in passing: it holds only when it names something that is remembered. */
  readonly vague: boolean;
}

export interface MemoryOrders {
  readonly orders: readonly MemoryOrder[];
  /** The message says nothing else, so that nobody has to be asked. */
  readonly only: boolean;
}

/** Longer messages were mostly pasted: orders stand at their ends. UTF-16 units. */
const longMessage = 4_000;
const ends = { head: 700, tail: 500 };
/** More than these in one message are a text about memory rather than orders. */
const maxOrders = 20;

/** What is said for this task, or as a question, is for the model. */
const forThisTask =
  /\b(?:(?:in|for|during|within) this (?:task|session|chat|conversation|change|edit|message|pr|run)|for now|this time|just (?:this )?once|right now|today|in dieser aufgabe|für diese aufgabe|diesmal|heute|pour cette tâche|cette fois|en esta tarea|esta vez|hoy|in questo compito|questa volta|oggi|nesta tarefa|desta vez|hoje)\b/iu;
const courtesy =
  /^(?:[\s.,!:;–-]|(?:ok(?:ay)?|thanks|thank you|thx|cheers|please|danke|bitte|vielen dank|merci|gracias|grazie|obrigad[oa]|por favor|hi|hello|hey|hallo|lancelot|great|good|and|also)\b)*$/iu;
/** A request that hangs on an order: "…, then fix the build". */
const request =
  /(?:[,;]\s*(?:(?:and|und|et|y|e)\s+)?(?:(?:then|now|dann|jetzt|puis|ensuite|luego|ahora|poi|depois|agora)\s+)?|\s+(?:and|und|et|y|e)\s+(?:then|dann|ensuite|luego|poi|depois)\s+|\s+(?:and|und|et|y|e)\s+)(?:please\s+|bitte\s+)?(?:add|build|change|check|commit|create|debug|delete|deploy|explain|find|fix|implement|install|look|make|move|open|refactor|remove|rename|review|run|show|start|summari[sz]e|tell|update|write|ändere|baue|behebe|erkläre|erstelle|füge|lösche|prüfe|schreibe|zeige?|ajoute|change|corrige|crée|écris|explique|lance|montre|supprime|arregla|añade|borra|corrige|crea|ejecuta|escribe|explica|muestra|aggiungi|correggi|crea|esegui|mostra|scrivi|spiega|adicione|corrija|crie|escreva|execute|explique|mostre)(?=\s)/iu;

/** True for what holds for this task alone. */
export function saidForThisTask(text: string): boolean {
  return forThisTask.test(text);
}

/** The words that are the owner's own in a message: not what they quoted or pasted between fences, marks or indents. */
export function ownWords(text: string): string {
  const unfenced = text.replaceAll("\r", "").replaceAll(/(`{3,}|~{3,})[\s\S]*?(?:\1|$)/g, "\n\n");
  const lines = unfenced.split("\n");
  const kept = lines.filter(
    (line) => !/^\s*(?:>|\/\/|#!|\/\*|\*\/|\|)/.test(line) && (lines.length === 1 || !/^(?: {4,}|\t)\S/.test(line)),
  );
  return kept.join("\n").trim();
}

/** The orders on memory in a message of the owner's, by its words alone. Slash commands are a whole message. */
export function memoryOrders(text: string): MemoryOrders {
  const slash = /^\/(memory|remember|forget)(?:\s+([\s\S]*))?$/.exec(text.trim());
  if (slash !== null) {
    const about = (slash[2] ?? "").trim();
    return {
      orders: [{ kind: slash[1] === "memory" ? "show" : (slash[1] as "remember" | "forget"), text: about, vague: false }],
      only: true,
    };
  }
  const own = ownWords(text);
  const pasted = own.length < text.replaceAll("\r", "").trim().length;
  const looked = own.length <= longMessage ? own : `${own.slice(0, ends.head)}\n…\n${own.slice(-ends.tail)}`;
  const orders: MemoryOrder[] = [];
  let rest = "";
  const sentences = sentencesOf(looked);
  for (let index = 0; index < sentences.length; index++) {
    const sentence = sentences[index] ?? "";
    const listed = headsList(sentence) ? listAfter(sentences, index + 1) : [];
    if (listed.length > 0) {
      orders.push(...listed.map((item) => ({ kind: "remember" as const, text: item, vague: false })));
      index += listed.length;
      continue;
    }
    const found = orderIn(sentence);
    if (found === null) {
      rest += ` ${sentence}`;
      continue;
    }
    orders.push(found.order);
    rest += ` ${found.before} ${found.after}`;
  }
  const only = orders.length > 0 && !pasted && courtesy.test(rest);
  if (orders.length > maxOrders) return { orders: [], only: false };
  return { orders: orders.filter(({ vague }) => !vague || (only && orders.length === 1)), only };
}

/** The order a sentence gives, with what else it says before and after. */
function orderIn(sentence: string): { order: MemoryOrder; before: string; after: string } | null {
  for (const { text, before } of beginnings(sentence)) {
    if (/[?？]\s*$/.test(text) && !/^(?:please\s+)?(?:can|could|will|would) you\b/i.test(text)) continue;
    for (const { kind, vague, pattern } of memoryForms) {
      const meant = pattern.exec(text.replace(/\?\s*$/, ""))?.groups?.["what"]?.trim();
      if (meant === undefined || forThisTask.test(text)) continue;
      const hung = request.exec(meant);
      const own = (hung === null ? meant : meant.slice(0, hung.index)).trim();
      if (own.endsWith(":") || !says(kind, own)) continue;
      return { order: { kind, text: own, vague: vague === true }, before, after: hung === null ? "" : meant.slice(hung.index) };
    }
  }
  return null;
}

/** Enough words to be kept: two, or one that is a name or a figure. */
function says(kind: "remember" | "forget", text: string): boolean {
  const words = text.match(/[\p{L}\p{N}][^\s]*/gu) ?? [];
  return words.length >= 2 || (kind === "forget" && words.length === 1 && text.length > 2) || /[\d`/]/.test(text);
}

/** Where an order may begin: with the sentence, or behind what else is asked in it. */
function beginnings(sentence: string): { text: string; before: string }[] {
  const found = [{ text: sentence, before: "" }];
  const joined =
    /[,;]\s+(?:and\s+|also\s+|und\s+|et\s+|y\s+|e\s+)*(?=(?:please\s+|bitte\s+)?(?:remember|forget|merke?\s+dir|vergiss|souviens-toi|retiens|oublie|recuerda|olvida|ricorda|dimentica|lembr|esque))|\s+and\s+(?:also\s+|please\s+)?(?=remember(?:\s+that)?\s+(?:we|i|my|our)\b)/giu;
  for (const match of sentence.matchAll(joined)) {
    const at = match.index + match[0].length;
    found.push({ text: sentence.slice(at), before: sentence.slice(0, match.index) });
  }
  return found;
}

/** "Remember:" with a list behind it. */
function headsList(sentence: string): boolean {
  return /^(?:please\s+|bitte\s+|por favor,?\s+)?(?:remember(?: (?:this|these|the following|that))?|merke? dir(?: bitte| folgendes)?|souviens-toi|retiens|recuerda|ricorda|lembre(?:-se)?)\s*:\s*$/iu.test(
    sentence,
  );
}

function listAfter(sentences: readonly string[], from: number): string[] {
  const items: string[] = [];
  for (let index = from; index < sentences.length; index++) {
    const item = /^(?:[-*•–]|\d{1,2}[.)])\s+(\S.*)$/u.exec(sentences[index] ?? "")?.[1];
    if (item === undefined) break;
    items.push(item.replace(/[.\s]+$/, ""));
  }
  return items;
}

/** Lines, and within them sentences: not cut at the dot of a file, a figure or a list's number. */
export function sentencesOf(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => (/^\s*(?:[-*•–]|\d{1,2}[.)])\s/.test(line) ? [line] : line.split(/(?<=[.!?。])\s+(?=[\p{Lu}\p{N}"“'¿¡`(])/u)))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}
