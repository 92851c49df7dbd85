/** What was replaced in a text. */
export interface Finding {
  readonly kind: string;
  readonly placeholder: string;
}

/** Replaces secrets in everything that is stored, shown or sent. Pure, synchronous, never throws. */
export interface Redactor {
  text(value: string): { text: string; findings: Finding[] };
  /** The same for every string inside a JSON value, keys that name a secret included; cuts what is longer than `maxBytes`. */
  value<T>(value: T, maxBytes?: number): T;
}

/** Secrets by name (`OPENAI_API_KEY`): the editor's SecretStorage, else the vault file, else the environment. */
export interface Secrets {
  get(name: string): Promise<string | null>;
  set(name: string, value: string): Promise<void>;
  delete(name: string): Promise<void>;
  list(): Promise<string[]>;
}

/** Tells the host's log what must not leave it: the error behind a sentence. */
export type Log = (message: string, error?: unknown) => void;

/** A `fetch` that reaches the named origins and nothing else; follows no redirect elsewhere. */
export type GatedFetch = (origins: readonly string[]) => typeof fetch;
