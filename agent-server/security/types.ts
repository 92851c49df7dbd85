/** A secret or personal value that was replaced in a text. */
export interface Finding {
  readonly kind: string;
  readonly placeholder: string;
}

/** Replaces secrets in texts that are stored, shown or sent. Pure, synchronous, never throws. */
export interface Redactor {
  text(value: string): { text: string; findings: Finding[] };
  /** Redacts every string in a JSON value, and any value under a key that names a secret; truncates strings to `maxBytes`. */
  value<T>(value: T, maxBytes?: number): T;
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
