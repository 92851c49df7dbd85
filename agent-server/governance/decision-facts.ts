import type { Tier } from "../contract/common.ts";
import type { CommandPart, Decision, Posture, Rule, Verdict } from "../contract/governance.ts";
import type { SoulDocument } from "../contract/soul.ts";
import type { ResolvedPath } from "./policy/path-policy.ts";
import type { Kind, Tag } from "./action-vocabulary.ts";

/** Everything a decision depends on beside the intent. */
export interface Facts {
  /** The path policy. */
  readonly resolve: (path: string) => ResolvedPath;
  /** The sentence of a rule that made a path sensitive. */
  readonly ruleMessage: (rule: string) => string;
  /** The command policy. `cwd` as the intent gives it; the workspace without one. */
  readonly command: (command: string, cwd: string | undefined) => CommandJudgement;
  /** The network policy, for one URL that would be read or written. */
  readonly network: (url: string, use: NetworkUse) => NetworkJudgement;
  /** False in a restricted workspace. */
  readonly trusted: boolean;
  /** As the owner's settings say; the soul may be stricter. */
  readonly posture: Posture;
  /** Why the workspace is too wide to be written without asking; null for an ordinary one. */
  readonly broad: string | null;
  readonly safeMode: boolean;
  /** The active soul; null while its flag is off. */
  readonly soul: ActiveSoul | null;
  readonly trust: TrustView;
  readonly learned: LearnedView;
  /** True for a kind of action that is never automated, whatever trust or learned rules say. */
  readonly neverAutomate: (subject: SoulSubject) => boolean;
}

export type NetworkUse = "read" | "write";

/** What policy says of a command line, from its syntax tree. */
export interface CommandJudgement {
  readonly verdict: Verdict;
  /** T2 or T3: a command is never less. */
  readonly tier: Extract<Tier, "T2" | "T3">;
  readonly riskLevel: Decision["riskLevel"];
  /** Those that made the verdict, source `policy`, ids `command.<rule>`; on `allow` the rules of each command in it. */
  readonly rules: readonly Rule[];
  readonly alternatives: readonly string[];
  /** Short and stable, for trust and learning: the rule of the strictest command in it, such as `git.push`. */
  readonly scope: string;
  readonly tags: readonly Tag[];
  readonly parts: readonly CommandPart[];
}

/** What policy says of a URL. `deny` is final; a host that may be reached is `allow`. */
export interface NetworkJudgement {
  readonly verdict: "allow" | "deny";
  readonly rule: Rule;
  readonly alternatives: readonly string[];
  /** Lower case, without port; empty when there is none. */
  readonly host: string;
}

/** A soul as the gate uses it: its terms compiled to predicates. Immutable. */
export interface ActiveSoul {
  readonly version: string;
  /** Over the YAML as it stands on the disk. */
  readonly sha256: string;
  readonly document: SoulDocument;
  /** The term of `requires_approval` that covers this, or null. Covered is held at T3 and never lifted. */
  readonly requiresApproval: (subject: SoulSubject) => string | null;
  /** The enforced risk rules that are about this. Asked, never lifted. */
  readonly riskRules: (subject: SoulSubject) => readonly { readonly name: string; readonly description: string }[];
  /** The term of `allowed_autonomous` that names this, or null. */
  readonly allows: (subject: SoulSubject) => string | null;
  /** Why memory may not hold a text, from `memory_ethics`; null when it may. `personal`: it may when the owner asks for it. */
  readonly forbidsMemory: (content: string) => { readonly rule: string; readonly message: string; readonly personal: boolean } | null;
  readonly tone: {
    /** A failed or refused step must be told in the answer. */
    readonly noSilentFailure: boolean;
    /** Research must name its URLs. */
    readonly sourcesRequired: boolean;
  };
}

/** What the soul's terms are compared with. */
export interface SoulSubject {
  readonly kind: Kind;
  readonly capability: string;
  readonly action: string;
  readonly tags: readonly Tag[];
}

/** What trust is about. */
export interface TrustKey {
  readonly capability: string;
  readonly action: string;
  readonly scope: string;
}

export interface TrustView {
  /**
   * The tier for this where it is not the default: lower when the owner accepted that, higher after a rollback; null otherwise.
   * Cheap: asked in every decision at T1 and above.
   */
  tier(key: TrustKey, defaultTier: Tier): Tier | null;
}

export interface LearnedView {
  /** The learned rule that covers this and may still decide today; null when there is none. Counting happens in `used`. */
  find(key: TrustKey): { readonly id: string; readonly verdict: "allow" | "deny"; readonly message: string } | null;
}
