import type { Governance } from "../governance/governance.ts";

/** More files than these are not read unasked: the model can read the rest by itself. */
const maxNamed = 5;
/** How far behind the verb (UTF-16 units, within the sentence) a file counts as asked for. */
const reach = 200;

/** Words that ask to look into a file, in the languages the product's own words are looked for in. */
const verbs =
  /(?:^|[^\p{L}])(?:read|look (?:at|into)|open|load|check|see|have a look at|go through|take (?:a look at|into account)|consider|lies|lest|schau(?:e|t)? (?:in|auf|dir)|sieh dir|öffne|lade|lis|lisez|ouvre|ouvrez|regarde|consulte|lee|abre|mira|leggi|apri|guarda|leia|abra|olhe)(?![\p{L}])/giu;
/** A sentence that says not to is left alone as a whole. */
const negations =
  /(?:^|[^\p{L}])(?:do not|don't|don’t|never|without|no need to|instead of|nicht|kein\p{L}*|ohne|nie|ne|pas|sans|no|sin|nunca|non|senza|mai|não|sem)(?![\p{L}])/iu;

/** Files people call by a word. */
const calledFiles: readonly { word: RegExp; names: readonly string[] }[] = [
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
 * Files the owner asks in words to have read: "read src/a.ts", "look at the README". Only such as exist in the workspace and hold no
 * secrets; the same text over the same files gives the same answer. (Requirement C2.)
 */
export function findNamedFiles(text: string, governance: Pick<Governance, "resolvePath">): string[] {
  const paths = new Set<string>();
  const add = (written: string): boolean => {
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
        const written = (match[1] ?? match[2] ?? match[3] ?? "").replace(/[).:!?]+$/, "");
        // A bare word is no file unless it has an ending or a folder.
        if (/[./\\]/.test(written) && /[\p{L}\p{N}]/u.test(written) && !written.startsWith("@") && !/^\w+:\/\//.test(written)) add(written);
      }
      for (const { word, names } of calledFiles) if (word.test(after)) names.some(add);
    }
  }
  return [...paths];
}

/** What stands in blocks of code was pasted, not asked. */
function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?(?:```|$)/g, "\n").replaceAll(/^>.*$/gm, "");
}

/** Cut where a sentence ends: not at the dot of a file name. */
function sentencesOf(text: string): string[] {
  return text.split(/\n+|(?<=[.!?;])\s+/u).filter((sentence) => sentence.trim() !== "");
}
