import { requestPart } from "./intent-text.ts";
import { isStopWord } from "./stop-words.ts";

/** What a person calls one way and a file another. The first of a line is found by any of it; the others are added. */
const synonyms = [
  "login signin auth authentication anmeldung connexion",
  "logout signout",
  "password credential passwort",
  "error exception failure fehler erreur",
  "crash panic segfault abort",
  "config configuration settings options einstellungen",
  "delete remove drop löschen supprimer",
  "create add new insert erstellen créer",
  "update modify change edit ändern",
  "fetch get load retrieve laden",
  "save store persist write speichern",
  "test spec",
  "database db sql datenbank",
  "user account benutzer utilisateur usuario",
  "permission role access berechtigung",
  "message notification mail email",
  "slow performance latency langsam",
  "memory leak heap",
  "timeout deadline",
  "retry backoff",
  "cache memoize",
  "log logger logging",
  "deploy release publish",
  "build compile bundle",
  "dependency package module abhängigkeit",
  "function method handler funktion",
  "route endpoint url api",
  "thread concurrency parallel lock",
  "parse parser decode",
  "upload file import",
  "download export",
  "payment billing invoice checkout zahlung",
  "start startup boot init launch",
  "environment env variable",
  "docker container image",
  "schema migration table",
  "encrypt decrypt cipher hash",
  "token jwt session cookie",
].map((line) => line.split(" "));

const mostWords = 24;

/** What must stay as it is: quoted phrases, code, paths and identifiers. */
export function keptParts(query: string): string[] {
  const quoted = Array.from(query.matchAll(/["“”„«»]([^"“”„«»]{2,80})["“”„«»]|`([^`]{2,80})`/g), ([, one, other]) =>
    (one ?? other ?? "").trim(),
  );
  const code =
    query.match(
      /[\w@-]*(?:\/[\w@.-]+)+|\b[\w-]+\.[A-Za-z]\w{0,5}\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z\d]+(?:[A-Z][a-z\d]*)+|\b\w*_\w+|\b[A-Z]{2,}\d*\b|\b[A-Z]\d{3,}\b/g,
    ) ?? [];
  return [...new Set([...quoted, ...code])].filter((part) => part !== "");
}

/** A question as words to search for: without what only asks, with quoted phrases and names as they are, and other words for the same. */
export function rewriteByRules(query: string): string {
  const words = requestPart(query).words || query.slice(0, 500);
  const kept = keptParts(words).slice(0, 10);
  const rest = kept.reduce((text, part) => text.replaceAll(part, " "), words);
  const plain = (rest.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'-]*/gu) ?? []).filter((word) => word.length > 1 && !isStopWord(word));
  const terms = [...new Set(plain)].slice(0, 12);
  const added = terms.flatMap((term) => {
    const line = synonyms.find((words_) => words_.some((word) => sameWord(word, term)));
    return line === undefined ? [] : line.filter((word) => !terms.some((one) => sameWord(word, one))).slice(0, 2);
  });
  const result = [...kept.map((part) => (/\s/.test(part) ? `"${part}"` : part)), ...new Set([...terms, ...added])].slice(0, mostWords);
  return result.length === 0 ? words.trim() : result.join(" ");
}

/** The same but for an ending. */
function sameWord(one: string, other: string): boolean {
  return (
    one === other ||
    (one.length > 3 &&
      (other === `${one}s` || other === `${one}es` || other === `${one}ed` || other === `${one}ing` || other === `${one.slice(0, -1)}ing`))
  );
}
