/** A stream that ended before the provider's last event. */
export class CutStreamError extends Error {
  constructor() {
    super("the stream ended early");
    this.name = "CutStreamError";
  }
}

/** A failure that a provider reported within a stream. */
export class ReportedError extends Error {
  readonly type: string;

  constructor(type: string, message: string) {
    super(message);
    this.name = "ReportedError";
    this.type = type;
  }
}

/** A response with a status other than 200, over plain REST. */
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

/** A response with status 200 that is not a model's: the web page of a proxy or a sign-in, or a text instead of a stream. */
export class UnusableAnswerError extends Error {
  readonly what: "page" | "no_stream" | "too_long";

  constructor(what: "page" | "no_stream" | "too_long") {
    super(what);
    this.name = "UnusableAnswerError";
    this.what = what;
  }
}
