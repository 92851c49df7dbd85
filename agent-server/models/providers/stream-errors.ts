/** A stream that ended before the provider said that it was done. */
export class CutStreamError extends Error {
  constructor() {
    super("the stream ended early");
    this.name = "CutStreamError";
  }
}

/** A failure that a provider reported inside a stream that began well. */
export class ReportedError extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.name = "ReportedError";
    this.type = type;
  }
}

/** An answer with another status than 200, as plain REST meets it. */
export class StatusError extends Error {
  readonly status: number;
  /** The parsed body, or its text. */
  readonly error: unknown;

  constructor(status: number, error: unknown) {
    super(typeof error === "string" ? error : `status ${status}`);
    this.name = "StatusError";
    this.status = status;
    this.error = error;
  }
}

/** An answer with status 200 that no model gave: the web page of a proxy or a sign-in, or one text in place of a stream. */
export class UnusableAnswerError extends Error {
  readonly what: "page" | "no_stream" | "too_long";

  constructor(what: "page" | "no_stream" | "too_long") {
    super(what);
    this.name = "UnusableAnswerError";
    this.what = what;
  }
}
