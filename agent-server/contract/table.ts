import type * as z from "zod";
import { artifactMethods } from "./artifacts.ts";
import { backgroundMethods } from "./background.ts";
import { changeMethods } from "./changes.ts";
import { chatMethods } from "./chat.ts";
import type { Transport } from "./common.ts";
import { commandMethods } from "./commands.ts";
import { contextMethods } from "./context.ts";
import { flagMethods } from "./flags.ts";
import { governanceMethods } from "./governance.ts";
import { hostMethods } from "./host.ts";
import { intentMethods } from "./intent.ts";
import { memoryMethods } from "./memory-methods.ts";
import { modelMethods } from "./models.ts";
import { oauthMethods } from "./oauth.ts";
import { planMethods } from "./plans.ts";
import { providerMethods } from "./providers.ts";
import { receiptMethods } from "./receipts.ts";
import { routerMethods } from "./router.ts";
import { securityMethods } from "./security.ts";
import { soulMethods } from "./soul.ts";
import { toolMethods } from "./tools.ts";
import { trustMethods } from "./trust.ts";
import { usageMethods } from "./usage.ts";

/** All methods of the host. Transports, the OpenAPI document and the types of host, extension and webviews derive from it. */
export const methods = {
  ...hostMethods,
  ...chatMethods,
  ...modelMethods,
  ...memoryMethods,
  ...routerMethods,
  ...usageMethods,
  ...intentMethods,
  ...oauthMethods,
  ...commandMethods,
  ...contextMethods,
  ...governanceMethods,
  ...receiptMethods,
  ...toolMethods,
  ...providerMethods,
  ...backgroundMethods,
  ...changeMethods,
  ...planMethods,
  ...artifactMethods,
  ...securityMethods,
  ...soulMethods,
  ...trustMethods,
  ...flagMethods,
};

export type MethodName = keyof typeof methods;
/** A caller's params; those with defaults are optional. */
export type ParamsIn<M extends MethodName> = z.input<(typeof methods)[M]["params"]>;
/** A handler's params, with defaults filled in. */
export type Params<M extends MethodName> = z.output<(typeof methods)[M]["params"]>;
export type Result<M extends MethodName> = z.output<(typeof methods)[M]["result"]>;

/** A handler for each method. */
export type Handlers = { [M in MethodName]: (params: Params<M>, call: CallContext) => Promise<Result<M>> | Result<M> };

/** Context of a call besides its params. */
export interface CallContext {
  /** True when the caller presented the owner token. */
  readonly owner: boolean;
  readonly signal: AbortSignal;
  /** Absent for calls of the host itself. */
  readonly transport?: Transport;
}

/** The client's call function, for every transport. */
export type Call = <M extends MethodName>(name: M, params: ParamsIn<M>, signal?: AbortSignal) => Promise<Result<M>>;

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}
