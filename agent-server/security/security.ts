export type { GatedFetch, Inspection, Log, Redactor, Secrets } from "./types.ts";
export { type PiiDetector, type PiiKind, type PiiMatch, piiKinds } from "./pii/types.ts";
export { createPiiDetector, type ConfigurablePiiDetector } from "./pii/detector.ts";
export { RedactionSettings } from "./pii/redaction-settings.ts";
export { securityHandlers } from "./handlers.ts";
export { createDataFence, type DataFence, derivedMarker, fence } from "./data-fence.ts";
export { createKnownSecrets, type KnownSecrets } from "./known-secrets/known-secrets.ts";
export { createRedactor } from "./redactor.ts";
export {
  createPlaceholders,
  createRestorer,
  type PersonalRules,
  type Placeholders,
  type QuestPlaceholders,
} from "./placeholders/placeholders.ts";
export { wildcard } from "./wildcard.ts";
export { createOwnerGate } from "./owner-gate.ts";
export { createSanitizer, type InjectionFinding, type RuleTable, type Sanitizer } from "./sanitizer.ts";
export { checkedLookup, isLoopbackHost, reachOf } from "./addresses.ts";
export { createGatedFetch } from "./gated-fetch.ts";
export { createPageFetch, type PageAnswer, type PageFetch, type PageHead } from "./page-fetch.ts";
export { createSecrets, type EditorSecrets } from "./secrets.ts";
export { createOAuth, type OAuth, type OAuthNotice } from "./oauth/oauth.ts";
export { unfinishedTokenFrom } from "./unfinished-token.ts";
export { isReservedSecret, refuseReservedSecret, reservedSecrets } from "./reserved-secrets.ts";
