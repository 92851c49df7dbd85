import { type ReadableKind } from "./web-text.ts";

/** One request, judged and approved for its first address. */
export interface WebRequest {
  readonly url: string;
  readonly signal: AbortSignal;
  /** Asked before each hop. @throws LancelotError to refuse. */
  readonly judge: (url: string, hop: number) => void;
}

/** Where something came from: on the receipt, and named in the answer. */
export interface WebSource {
  readonly url: string;
  readonly finalUrl: string;
  readonly redirects: readonly string[];
  readonly status: number;
  readonly type: string;
  readonly bytes: number;
  /** Of the body as it came, unpacked. */
  readonly sha256: string;
  readonly fetchedAt: string;
}

export interface WebPage {
  readonly source: WebSource;
  readonly kind: ReadableKind;
  readonly title: string | null;
  readonly text: string;
}

export interface WebFile {
  readonly source: WebSource;
  readonly bytes: Buffer;
}

export interface WebSent {
  readonly source: WebSource;
  /** Where it redirects to; that was not followed. */
  readonly location: string | null;
  readonly text: string;
}
