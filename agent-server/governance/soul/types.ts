import type { Emit } from "../../contract/events.ts";
import type { SoulDocument, SoulIssue, SoulProposal, SoulScope, SoulStatus } from "../../contract/soul.ts";
import type { Ledger } from "../../receipts/receipts.ts";
import type { Log, Redactor } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ActiveSoul } from "../decision-facts.ts";

export interface SoulDeps {
  storage: Storage;
  ledger: Ledger;
  redactor: Redactor;
  /** Holds the user's soul in `soul/`. */
  dataDir: string;
  /** The shipped `soul/`. */
  shippedDir: string;
  /** Holds governance.yaml. */
  configDir: string;
  /** The SOUL flag. */
  enabled: () => boolean;
  emit: Emit;
  /** Milliseconds since 1970. */
  now?: () => number;
  log?: Log;
  /** Called between the steps of an activation, so that tests can stop the host there. */
  between?: (step: "prepared" | "written" | "pointed") => void;
}

export interface SoulProposalRequest {
  readonly yaml: string;
  readonly reason: string;
  readonly by: SoulProposal["proposedBy"];
  readonly questId: string | null;
  /** Parent of the proposal's receipt. */
  readonly parentId?: string | null;
}

/** The constitution: which version is active, what it says, and how it changes (requirements S1, S2). */
export interface SoulService {
  /** The soul for the next decision; null while the SOUL flag is off. About 2 µs when nothing changed. Never throws. */
  active(): ActiveSoul | null;
  /** Why the intended soul is not active, or its terms are unusable; null when all is well or the flag is off. Cheap. */
  problem(): string | null;
  /** The active soul for a prompt, in full and as one line; null while the flag is off. */
  prompt(): { readonly text: string; readonly line: string; readonly version: string } | null;
  /**
   * The active soul restricted by a scope; null while the flag is off. Fast for a scope that was used before.
   * @throws LancelotError `conflict`, naming each field that would be wider than the soul; `invalid_params`.
   */
  restricted(scope: SoulScope): ActiveSoul | null;
  /** Issues of a text. Never throws. */
  lint(yaml: string): SoulIssue[];
  status(): SoulStatus;
  /** Emits the `soul` event for changes that another window made. Cheap; call it periodically. Never throws. */
  notice(): void;
  /** @throws LancelotError `not_found`, or `conflict` when the text cannot be read as a soul. */
  get(version?: string): { version: string; yaml: string; document: SoulDocument; active: boolean };
  /** @throws LancelotError `too_large`, `rate_limited` (too many pending), `conflict` (duplicate, or no change). */
  propose(request: SoulProposalRequest): SoulProposal;
  proposals(filter: { status?: SoulProposal["status"] | undefined; limit: number }): SoulProposal[];
  /** @throws LancelotError `not_found`, or `conflict`: already decided, based on an inactive version, or rejected by the lint. */
  approve(id: string): SoulProposal;
  /** @throws LancelotError `not_found`, `conflict`. */
  reject(id: string, reason?: string): SoulProposal;
  /** Takes effect with the next decision, in every window. @throws LancelotError as `approve`; `unavailable` (disk). */
  activate(id: string): SoulProposal;
  /** Activates an earlier version. @throws LancelotError `not_found`, `conflict`, `unavailable`. */
  rollback(version: string): SoulStatus;
}
