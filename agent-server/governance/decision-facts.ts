import type { Tier } from "../contract/common.ts";
import type { CommandPart, Decision, Posture, Rule, Verdict } from "../contract/governance.ts";
import type { SoulDocument } from "../contract/soul.ts";
import type { ResolvedPath } from "./policy/path-policy.ts";
import type { Kind, Tag } from "./action-vocabulary.ts";

/** Everything a decision depends on besides the intent. */
export interface DecisionFacts {
  /** The path policy. */
  readonly resolve: (path: string) => ResolvedPath;
  /** The message of a path rule. */
  readonly ruleMessage: (rule: string) => string;
  /** The command policy. `cwd` comes from the intent; without one it is the workspace. */
  readonly command: (command: string, cwd: string | undefined) => CommandJudgment;
  /** The network policy for one URL that would be read or written. */
  readonly network: (url: string, use: NetworkUse) => NetworkJudgment;
  /** False in a restricted workspace. */
  readonly trusted: boolean;
  /** From the owner's settings; the soul may be stricter. */
  readonly posture: Posture;
  /** Why writes to an overly broad workspace require approval; null for an ordinary one. */
  readonly broad: string | null;
  readonly safeMode: boolean;
  /** The active soul; null while its flag is off. */
  readonly soul: ActiveSoul | null;
  readonly trust: TrustView;
  readonly learned: LearnedView;
  /** True for an action that neither trust nor a learned rule may automate. */
  readonly neverAutomate: (subject: SoulSubject) => boolean;
}

export type NetworkUse = "read" | "write";

/** Code of the workspace that a command would run, found while the command was judged. */
export type CodeSource =
  /** A script, program or Makefile; its content is not read here. */
  | { readonly kind: "file"; readonly absolute: string }
  /** One script of a package.json, with all scripts of that file. A missing script has no text. */
  | {
      readonly kind: "script";
      readonly absolute: string;
      readonly name: string;
      readonly text: string | null;
      readonly scripts: ReadonlyMap<string, string>;
    };

/** The command policy's verdict on a command line, from its syntax tree. */
export interface CommandJudgment {
  readonly verdict: Verdict;
  /** At least T2 for every command. */
  readonly tier: Extract<Tier, "T2" | "T3">;
  readonly riskLevel: Decision["riskLevel"];
  /** The rules behind the verdict, with ids `command.<rule>`; on `allow` the rules of every command in the line. */
  readonly rules: readonly Rule[];
  readonly alternatives: readonly string[];
  /** The rule of the strictest command, such as `git.push`. */
  readonly scope: string;
  /**
   * What trust and learned rules are bound to besides the rule, which covers a family of programs: each program that does more than
   * read, with its subcommand and the script or target that it runs (`npm run lint`). Sorted; all programs when they only read.
   */
  readonly programs: readonly string[];
  readonly tags: readonly Tag[];
  readonly parts: readonly CommandPart[];
  /** The code that it would run; null when the command's text does not show it, or it cannot be read. */
  readonly code: readonly CodeSource[] | null;
}

/** What a command needs of the network. */
export interface NetworkNeeds {
  /** Names of services, such as "the npm registry". */
  readonly services: readonly string[];
  /** The hosts it needs; null when they are unknown, so that the allowlist applies. */
  readonly hosts: readonly string[] | null;
}

/** The network policy's verdict on a URL. `deny` is final. */
export interface NetworkJudgment {
  readonly verdict: "allow" | "deny";
  readonly rule: Rule;
  readonly alternatives: readonly string[];
  /** Lower case, without port; empty when the URL has no host. */
  readonly host: string;
}

/** A soul with its terms compiled to predicates. Immutable. */
export interface ActiveSoul {
  readonly version: string;
  /** Hash of the YAML text. */
  readonly sha256: string;
  readonly document: SoulDocument;
  /** The term of `requires_approval` that covers the subject, or null. A covered subject stays at T3. */
  readonly requiresApproval: (subject: SoulSubject) => string | null;
  /** The enforced risk rules that apply to the subject. They always require approval. */
  readonly riskRules: (subject: SoulSubject) => readonly { readonly name: string; readonly description: string }[];
  /** The term of `allowed_autonomous` that names the subject, or null. */
  readonly allows: (subject: SoulSubject) => string | null;
  /** Why `memory_ethics` forbids storing a text; null when it may be stored. `personal`: the owner may request it. */
  readonly forbidsMemory: (content: string) => { readonly rule: string; readonly message: string; readonly personal: boolean } | null;
  readonly tone: {
    /** The answer must mention failed and denied steps. */
    readonly noSilentFailure: boolean;
    /** Answers from research must cite their URLs. */
    readonly sourcesRequired: boolean;
  };
}

/** The action that the soul's terms are compared with. */
export interface SoulSubject {
  readonly kind: Kind;
  readonly capability: string;
  readonly action: string;
  readonly tags: readonly Tag[];
}

/** The kind of action that trust and learning count. */
export interface TrustKey {
  readonly capability: string;
  readonly action: string;
  readonly scope: string;
}

export interface TrustView {
  /**
   * The tier where it differs from the default: lower when the owner accepted a proposal, higher after a rollback; else null.
   * Cheap, because every decision at T1 and above calls it.
   */
  tier(key: TrustKey, defaultTier: Tier): Tier | null;
}

export interface LearnedView {
  /** The learned rule that covers the key and may still decide today, or null. `used` counts its use. */
  find(key: TrustKey): { readonly id: string; readonly verdict: "allow" | "deny"; readonly message: string } | null;
}
