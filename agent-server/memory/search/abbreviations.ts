import { stem } from "./text-tokens.ts";

/** Common synonyms of developers, one meaning per line. A match of a synonym scores a little lower. */
const meanings: readonly string[] = [
  "db database databases",
  "config configuration configure cfg settings setting",
  "repo repository",
  "env environment",
  "prod production",
  "dev development",
  "auth authentication authorization login signin",
  "deps dependencies dependency",
  "k8s kubernetes",
  "postgres postgresql pg",
  "js javascript",
  "ts typescript",
  "py python",
  "dir directory folder",
  "app application",
  "docs documentation doc",
  "perf performance",
  "msg message",
  "param parameter argument arg",
  "func function fn",
  "pr pull-request",
  "pw password",
  "admin administrator",
  "tz timezone",
  "lang language",
  "id identifier",
  "info information",
  "max maximum",
  "min minimum",
  "num number",
  "pkg package",
  "lib library",
  "tel phone telephone",
  "bday birthday",
  "staging stage",
];

const byStem = new Map<string, readonly string[]>();
for (const meaning of meanings) {
  const stems = [...new Set(meaning.split(" ").map((word) => stem(word.replace("-", ""))))];
  for (const one of stems) byStem.set(one, [...(byStem.get(one) ?? []), ...stems.filter((other) => other !== one)]);
}

/** Stems with the same meaning. */
export function abbreviations(of: string): readonly string[] {
  return byStem.get(of) ?? [];
}
