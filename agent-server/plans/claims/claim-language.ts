/** What a sentence says was done. */
export type ActionKind = "edit" | "delete" | "run" | "commit" | "push" | "deploy" | "read";

/** The words of one language with which a writer tells what was done. All are in lower case; several words are separated by spaces. */
export interface LanguageSource {
  /** Past participles and past forms, by what they tell. */
  readonly verbs: Readonly<Record<ActionKind, string>>;
  /** Finite forms of the first person, which need no subject: `actualicé`. */
  readonly firstPerson: Readonly<Record<ActionKind, string>>;
  /** Verbs of editing that tell of work only together with a file or a noun of work: `saved`. */
  readonly weak: string;
  /** Verbs of no own meaning, whose object tells the kind: `made a commit`. */
  readonly light: string;
  /** Several words that count as one: `mis à jour`. */
  readonly phrases: readonly string[];
  /** Words of the writer as subject, with their auxiliaries: `i`, `j'ai`. */
  readonly self: string;
  /** Other subjects. */
  readonly others: string;
  /** Auxiliaries and adverbs that may stand between subject and verb. */
  readonly between: string;
  /** Auxiliaries of the first person, where the participle ends the sentence: `habe`. Empty where it follows the subject. */
  readonly finalAuxiliaries: string;
  readonly passive: string;
  /** What makes a statement none about the past: modals, negations, the future. */
  readonly blockers: string;
  readonly negations: string;
  readonly conditions: string;
  /** Words that begin a relative clause. */
  readonly relatives: string;
  readonly but: string;
  readonly and: string;
  readonly articles: string;
  /** Nouns of work: a passive or a light verb about them is a claim. */
  readonly work: string;
  /** Texts that are part of the answer itself: `I added a summary below`. */
  readonly artefacts: string;
  /** Words of other times and other authors: `by`, `originally`. */
  readonly history: string;
  readonly tests: string;
  /** Words that say of tests that they passed. */
  readonly passed: string;
  readonly failed: string;
  /** What is not a report when it stands before tests: `make`, `ensure`. */
  readonly testBlockers: string;
  readonly all: string;
  readonly of: string;
  /** Prepositions after which a file is where something was changed: `to README.md`. */
  readonly locations: string;
  /** Auxiliaries that tell of a result only together with an adverb: `is now fixed`, but not `is created on start`. */
  readonly stative: string;
  /** Two words that are no report: `ran into`. */
  readonly idioms: readonly string[];
  /** First words of headings over changes, and of those over plans and advice. */
  readonly changeHeadings: string;
  readonly planHeadings: string;
  /** Beginnings of an announcement, and the work that it announces. */
  readonly announcements: readonly string[];
  readonly announcedWork: string;
  /** Announcements by themselves: `give me a moment`. */
  readonly waiting: readonly string[];
  /** Words that make an announcement an offer or a promise for later. */
  readonly offers: string;
  /** Those of `offers` that tell a time: "I'll report back when it is finished" is no offer, "once you approve it" is one. */
  readonly times: string;
  /** Infinitives for the actions of a structured report, by kind. */
  readonly infinitives: Readonly<Record<ActionKind, string>>;
}

type SetName = { [Name in keyof LanguageSource]: LanguageSource[Name] extends string ? Name : never }[keyof LanguageSource];

/** The tables of one language, ready to look words up. */
export type ClaimLanguage = Readonly<Record<SetName, ReadonlySet<string>>> & {
  readonly verbs: ReadonlyMap<string, ActionKind>;
  readonly firstPerson: ReadonlyMap<string, ActionKind>;
  readonly infinitives: ReadonlyMap<string, ActionKind>;
  readonly phrases: readonly (readonly string[])[];
  readonly idioms: ReadonlySet<string>;
  readonly announcements: readonly (readonly string[])[];
  readonly waiting: readonly (readonly string[])[];
};

/** Makes the tables of a language from its lists. */
export function toLanguage(source: LanguageSource): ClaimLanguage {
  const entries = Object.entries(source).flatMap(([name, text]) => (typeof text === "string" ? [[name, wordSet(text)]] : []));
  const sets = Object.fromEntries(entries) as Record<SetName, ReadonlySet<string>>;
  const list = (texts: readonly string[]): string[][] => texts.map((text) => text.split(" "));
  return {
    ...sets,
    verbs: kindsOf(source.verbs),
    firstPerson: kindsOf(source.firstPerson),
    infinitives: kindsOf(source.infinitives),
    phrases: list(source.phrases),
    idioms: new Set(source.idioms),
    announcements: list(source.announcements),
    waiting: list(source.waiting),
  };
}

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(" ").filter((word) => word !== ""));
}

function kindsOf(words: Readonly<Record<ActionKind, string>>): ReadonlyMap<string, ActionKind> {
  const kinds = Object.entries(words) as [ActionKind, string][];
  return new Map(kinds.flatMap(([kind, text]) => text.split(" ").flatMap((word) => (word === "" ? [] : [[word, kind] as const]))));
}
