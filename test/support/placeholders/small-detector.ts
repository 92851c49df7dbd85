import type { PersonalRules, PiiDetector, PiiKind, PiiMatch } from "../../../agent-server/security/security.ts";
import { piiKinds } from "../../../agent-server/security/security.ts";

const patterns: readonly [PiiKind, RegExp, number?][] = [
  ["email", /(?<![\w.+-])[\w.+-]{1,60}@[\w-]{1,40}(?:\.[\w-]{2,20}){1,3}(?![\w-])/g],
  ["iban", /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g],
  ["phone", /(?<![\w+])\+\d{1,3}[ -]?\d{2,4}(?:[ -]?\d{2,4}){2,3}(?!\w)/g],
  ["person", /(?:name: |author: )"?(\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}+)/gu, 1],
];

/** Enough to find what these tests put in, by form alone; the real one has its own tests. */
export const smallDetector: PiiDetector = {
  find(text) {
    const found: PiiMatch[] = [];
    for (const [kind, pattern, group] of patterns)
      for (const match of text.matchAll(pattern)) {
        const value = group === undefined ? match[0] : (match[group] ?? "");
        const start = match.index + match[0].length - value.length;
        found.push({ start, end: start + value.length, kind });
      }
    found.sort((one, other) => one.start - other.start || other.end - one.end);
    return found.filter((match, at) => found.slice(0, at).every((before) => before.end <= match.start));
  },
};

export const allPersonal: PersonalRules = { detector: smallDetector, kinds: new Set(piiKinds) };
