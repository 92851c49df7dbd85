import type { Emit } from "../../contract/events.ts";
import type { SoulStatus } from "../../contract/soul.ts";
import type { Log } from "../../security/security.ts";
import type { ActiveSoulResolver } from "./active-soul.ts";
import type { ProposalStore } from "./soul-proposal-store.ts";
import { type VersionFiles, versionNumber } from "./soul-version-files.ts";

export interface SoulStatusReporter {
  readonly status: () => SoulStatus;
  /** Emits the current status. Never throws. */
  readonly emitStatus: () => void;
  /** Emits the status when another window changed the soul or its proposals. Never throws. */
  readonly emitIfChanged: () => void;
  /** Takes the current proposals as already emitted. */
  readonly markEmitted: () => void;
}

/** Reports the soul's status. `activeSoul` is a function, because resolving the soul reports its status too. */
export function createSoulStatusReporter(deps: {
  activeSoul: () => ActiveSoulResolver;
  files: VersionFiles;
  proposals: ProposalStore;
  enabled: () => boolean;
  emit: Emit;
  log: Log;
}): SoulStatusReporter {
  const { activeSoul, files, proposals, enabled, log } = deps;
  let isEmitting = false;
  let fingerprint = "";

  function status(): SoulStatus {
    activeSoul().refresh();
    const version = activeSoul().version();
    const known = new Set([...files.list(), ...(version === null ? [] : [version])]);
    return {
      activeVersion: enabled() ? version : null,
      versions: [...known].sort((one, other) => versionNumber(one) - versionNumber(other)),
      pendingProposals: proposals.list({ status: ["pending", "approved"], limit: 200 }).map((one) => one.proposal),
      problem: enabled() ? activeSoul().problem() : null,
    };
  }

  function emitStatus(): void {
    // `status` refreshes the soul, which can call this again.
    if (isEmitting) return;
    isEmitting = true;
    try {
      deps.emit("soul", status());
      fingerprint = proposals.fingerprint();
    } catch (error) {
      log("soul event not sent", error);
    } finally {
      isEmitting = false;
    }
  }

  return {
    status,
    emitStatus,
    markEmitted() {
      fingerprint = proposals.fingerprint();
    },
    emitIfChanged() {
      try {
        activeSoul().current();
        if (proposals.fingerprint() !== fingerprint) emitStatus();
      } catch (error) {
        log("soul proposals not checked", error);
      }
    },
  };
}
