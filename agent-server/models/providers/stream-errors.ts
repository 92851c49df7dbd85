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

/** An item of a stream that does not fit the provider's format. `problem` completes "It sent …": "an event that is no JSON". */
export class InvalidItemError extends Error {
  readonly problem: string;

  constructor(problem: string) {
    super(problem);
    this.name = "InvalidItemError";
    this.problem = problem;
  }
}

/** What of an answer has a limit. */
export type Limited = "text" | "thinking" | "arguments" | "calls" | "event" | "stream";

/** An answer that exceeds a limit. A retry would most likely exceed it again. */
export class AnswerTooLargeError extends Error {
  readonly what: Limited;
  /** Calls, bytes of a stream, otherwise characters. */
  readonly limit: number;

  constructor(what: Limited, limit: number) {
    super(`the ${what} of the answer exceed ${limit}`);
    this.name = "AnswerTooLargeError";
    this.what = what;
    this.limit = limit;
  }
}
