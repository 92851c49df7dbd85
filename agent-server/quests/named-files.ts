import { trimEnd } from "../contract/trim-end.ts";
import type { Governance } from "../governance/governance.ts";

/** Files attached automatically per message. The model can read further ones itself. */
const maxNamed = 5;
/** Words of a message that are looked up as files: each costs a look at the disk. */
const maxTried = 200;
/** The distance (UTF-16 units) after the verb within which a file of the same sentence counts as requested. */
const reach = 200;

/** Verbs that ask to read a file, in the languages that Lancelot recognizes. */
const verbs =
  /(?:^|[^\p{L}])(?:read|look (?:at|into)|open|load|check|see|have a look at|go through|take (?:a look at|into account)|consider|lies|lest|schau(?:e|t)? (?:in|auf|dir)|sieh dir|öffne|lade|lis|lisez|ouvre|ouvrez|regarde|consulte|lee|abre|mira|leggi|apri|guarda|leia|abra|olhe)(?![\p{L}])/giu;
/** A sentence with a negation is skipped. */
const negations =
  /(?:^|[^\p{L}])(?:do not|don't|don’t|never|without|no need to|instead of|nicht|kein\p{L}*|ohne|nie|ne|pas|sans|no|sin|nunca|non|senza|mai|não|sem)(?![\p{L}])/iu;

/** Files that people refer to by a common name. */
const wellKnownFiles: readonly { word: RegExp; names: readonly string[] }[] = [
  {
    word: /(?:^|[^\p{L}\p{N}./_-])readme(?![\p{L}\p{N}./_-]*[\p{L}\p{N}])/iu,
    names: ["README.md", "readme.md", "README", "README.rst", "README.txt", "Readme.md"],
  },
  {
    word: /(?:^|[^\p{L}\p{N}./_-])changelog(?![\p{L}\p{N}./_-]*[\p{L}\p{N}])/iu,
    names: ["CHANGELOG.md", "changelog.md", "CHANGELOG", "HISTORY.md"],
  },
  { word: /(?:^|[^\p{L}\p{N}./_-])contributing guide(?![\p{L}])/iu, names: ["CONTRIBUTING.md", "contributing.md"] },
  { word: /(?:^|[^\p{L}\p{N}./_-])licen[cs]e file(?![\p{L}])/iu, names: ["LICENSE", "LICENSE.md", "LICENSE.txt", "COPYING"] },
];

/**
 * Finds the files that the user asks to read, as in "read src/a.ts" or "look at the README". Returns only existing files of the
 * workspace without secrets, and the same files for the same text. (Requirement C2.)
 */
export function findNamedFiles(text: string, governance: Pick<Governance, "resolvePath">): string[] {
  const paths = new Set<string>();
  const tried = new Map<string, boolean>();
  const add = (written: string): boolean => {
    const known = tried.get(written);
    if (known !== undefined || tried.size >= maxTried) return known ?? false;
    const isFile = find(written);
    tried.set(written, isFile);
    return isFile;
  };
  const find = (written: string): boolean => {
    const resolved = governance.resolvePath(written);
    if (!resolved.ok || !resolved.inside || resolved.type !== "file" || resolved.sensitive === "secret") return false;
    if (paths.size < maxNamed) paths.add(resolved.display);
    return true;
  };
  for (const sentence of sentencesOf(withoutCode(text))) {
    if (negations.test(sentence)) continue;
    for (const verb of sentence.matchAll(verbs)) {
      const after = sentence.slice(verb.index + verb[0].length, verb.index + verb[0].length + reach);
      for (const match of after.matchAll(/`([^`\n]+)`|"([^"\n]+)"|([^\s"'`,;()<>]+)/g)) {
        const written = trimEnd(match[1] ?? match[2] ?? match[3] ?? "", ").:!?");
        // A word without an extension or folder is not a file name.
        if (/[./\\]/.test(written) && /[\p{L}\p{N}]/u.test(written) && !written.startsWith("@") && !/^\w+:\/\//.test(written)) add(written);
      }
      for (const { word, names } of wellKnownFiles) if (word.test(after)) names.some(add);
    }
  }
  return [...paths];
}

/** Removes code blocks and quotations, because their text was pasted. */
function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?(?:```|$)/g, "\n").replaceAll(/^>.*$/gm, "");
}

/** Splits at the ends of sentences, but not at the dot of a file name. */
function sentencesOf(text: string): string[] {
  return text.split(/\n+|(?<=[.!?;])\s+/u).filter((sentence) => sentence.trim() !== "");
}
