import { type ReadableKind } from "./web-text.ts";

/** One request, authorized for its first URL. */
export interface WebRequest {
  readonly url: string;
  readonly signal: AbortSignal;
  /** Called before each hop. @throws LancelotError to refuse it. */
  readonly judge: (url: string, hop: number) => void;
}

/** The source of a response, for the receipt and the answer. */
export interface WebSource {
  readonly url: string;
  readonly finalUrl: string;
  readonly redirects: readonly string[];
  readonly status: number;
  readonly type: string;
  readonly bytes: number;
  /** Of the decompressed body. */
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
  /** The target of a redirect, which was not followed. */
  readonly location: string | null;
  readonly text: string;
}
