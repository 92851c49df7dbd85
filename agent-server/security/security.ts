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

export { type PiiDetector, type PiiKind, type PiiMatch, piiKinds } from "./pii/pii.ts";
export { createPiiDetector, type OwnersPiiDetector } from "./pii/detector.ts";
export { RedactionSettings } from "./pii/settings.ts";
export { securityHandlers } from "./handlers.ts";
export { createDataFence, type DataFence, derivedMarker, fence } from "./data-marks.ts";
export { createRedactor } from "./redactor.ts";
export {
  createPlaceholders,
  createRestorer,
  type PersonalRules,
  type Placeholders,
  type QuestPlaceholders,
} from "./placeholders/placeholders.ts";
export { createOwnerGate } from "./owner-gate.ts";
export { createSanitizer, type InjectionFinding, type RuleTable, type Sanitizer } from "./sanitizer.ts";
export { checkedLookup, isLoopbackHost, reachOf } from "./addresses.ts";
export { createGatedFetch } from "./gated-fetch.ts";
export { createPageFetch, type PageAnswer, type PageFetch, type PageHead } from "./page-fetch.ts";
export { createSecrets, type EditorSecrets } from "./secrets.ts";
export { createOAuth, type OAuth, type OAuthNotice } from "./oauth/oauth.ts";
export { isReservedSecret, refuseReservedSecret, reservedSecrets } from "./reserved-secrets.ts";
