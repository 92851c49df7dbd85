/** A secret or personal value that was replaced in a text. */
export interface Finding {
  readonly kind: string;
  readonly placeholder: string;
}

/** A known value, or a part of one, in a text; positions in UTF-16 units. */
export interface KnownMatch {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** The known values in a text that may go on. */
export interface Inspection {
  /** In order and without overlap. */
  readonly matches: readonly KnownMatch[];
  /** Where a value may have begun that is not complete yet; the text's length if nowhere. */
  readonly unfinishedFrom: number;
}

/** Replaces secrets in texts that are stored, shown or sent. Pure, synchronous, never throws. */
export interface Redactor {
  text(value: string): { text: string; findings: Finding[] };
  /** Redacts every string in a JSON value, and any value under a key that names a secret; truncates strings to `maxBytes`. */
  value<T>(value: T, maxBytes?: number): T;
  /** Finds the values of secret files in a streamed text, of which a part may be missing. */
  inspect(text: string): Inspection;
}

/** Secrets by name (`OPENAI_API_KEY`): from the editor's SecretStorage, then the vault file, then the environment. */
export interface Secrets {
  get(name: string): Promise<string | null>;
  set(name: string, value: string): Promise<void>;
  delete(name: string): Promise<void>;
  list(): Promise<string[]>;
}

/** Writes to the host's log, including error details that must not be shown to the user. */
export type Log = (message: string, error?: unknown) => void;

/** Creates a `fetch` that can only reach the given origins, also through redirects. */
export type GatedFetch = (origins: readonly string[]) => typeof fetch;
