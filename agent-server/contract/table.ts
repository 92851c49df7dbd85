import type * as z from "zod";
import { changeMethods } from "./changes.ts";
import { chatMethods } from "./chat.ts";
import { contextMethods } from "./context.ts";
import { flagMethods } from "./flags.ts";
import { governanceMethods } from "./governance.ts";
import { hostMethods } from "./host.ts";
import { intentMethods } from "./intent.ts";
import { memoryMethods } from "./memory-methods.ts";
import { modelMethods } from "./models.ts";
import { oauthMethods } from "./oauth.ts";
import { providerMethods } from "./providers.ts";
import { receiptMethods } from "./receipts.ts";
import { routerMethods } from "./router.ts";
import { securityMethods } from "./security.ts";
import { soulMethods } from "./soul.ts";
import { toolMethods } from "./tools.ts";
import { trustMethods } from "./trust.ts";
import { usageMethods } from "./usage.ts";

/** Every method of the host, once. All transports, the OpenAPI document and the types of all three sides come from it. */
export const methods = {
  ...hostMethods,
  ...chatMethods,
  ...modelMethods,
  ...memoryMethods,
  ...routerMethods,
  ...usageMethods,
  ...intentMethods,
  ...oauthMethods,
  ...contextMethods,
  ...governanceMethods,
  ...receiptMethods,
  ...toolMethods,
  ...providerMethods,
  ...changeMethods,
  ...securityMethods,
  ...soulMethods,
  ...trustMethods,
  ...flagMethods,
};

export type MethodName = keyof typeof methods;
/** What a caller passes (defaults may be left out). */
export type ParamsIn<M extends MethodName> = z.input<(typeof methods)[M]["params"]>;
/** What a handler gets (defaults filled in). */
export type Params<M extends MethodName> = z.output<(typeof methods)[M]["params"]>;
export type Result<M extends MethodName> = z.output<(typeof methods)[M]["result"]>;

/** The host's side of the table: a handler for each method. */
export type Handlers = { [M in MethodName]: (params: Params<M>, call: CallContext) => Promise<Result<M>> | Result<M> };

/** Facts about a call that are not params. */
export interface CallContext {
  /** True when the caller showed the owner token. */
  readonly owner: boolean;
  readonly signal: AbortSignal;
}

/** The caller's side: one function for every way in. */
export type Call = <M extends MethodName>(name: M, params: ParamsIn<M>, signal?: AbortSignal) => Promise<Result<M>>;

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}
