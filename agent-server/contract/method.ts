import type * as z from "zod";

/** Who may call a method: any client, or only a caller with the owner token. */
export type Access = "any" | "owner";

/** A REST route in addition to `POST /rpc`. `{name}` path segments become params with that name. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
}

/** One entry of the contract table, with everything that transports need to know about a method. */
export interface Method<P extends z.ZodType = z.ZodType, R extends z.ZodType = z.ZodType> {
  readonly summary: string;
  readonly access: Access;
  readonly params: P;
  readonly result: R;
  readonly route?: Route;
  /** A second published route of the same method. */
  readonly alias?: Route;
}

/** Declares a method and preserves its exact schema types. */
export function method<P extends z.ZodType, R extends z.ZodType>(entry: Method<P, R>): Method<P, R> {
  return entry;
}
