import type * as fc from "fast-check";

/** Calls the real function with one input; what it returns is waited for. */
export type Call = (input: string) => unknown;

/** One parser or boundary under the fuzz. */
export interface Target {
  readonly name: string;
  /** Real inputs, which mutations start from. Characters up to U+00FF of a text without higher ones stand for bytes (`bytesOf`). */
  readonly samples: readonly string[];
  /** Inputs by the grammar of the format. */
  readonly grammar?: fc.Arbitrary<string>;
  /** Words of the format, which mutations insert. */
  readonly words?: readonly string[];
  /** The longest input in characters; by default 100,000. */
  readonly longest?: number;
  /** The most work on one input, ms of processor time; by default a second, which the host may be blocked at most. */
  readonly mostMs?: number;
  /** Names of errors besides LancelotError that the callers of the function expect from it. */
  readonly throws?: readonly string[];
  /** Prepares the call. @param folder an empty folder of this run */
  readonly open: (folder: string) => Call | Promise<Call>;
}

/** The bytes that an input stands for: its characters if all of them are bytes, otherwise its UTF-8. */
export function bytesOf(input: string): Buffer {
  // oxlint-disable-next-line no-control-regex -- all bytes
  return Buffer.from(input, /^[\u0000-\u00ff]*$/.test(input) ? "latin1" : "utf8");
}

/** A text as the bytes of its UTF-8, one character each, so that mutations work on bytes. */
export const asBytes = (text: string): string => Buffer.from(text).toString("latin1");
