import { LancelotError } from "../../contract/errors.ts";
import { join } from "node:path";
import type { SoulIssue, SoulStatus } from "../../contract/soul.ts";
import type { ReceiptClosing, ReceiptOpening } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { ActiveSoul } from "../decision-facts.ts";
import { createActivation } from "./soul-activation.ts";
import { createSoulProposals } from "./soul-proposals.ts";
import { compileSoul, soulHash } from "./compile-soul.ts";
import { readSoul } from "./soul-document.ts";
import { createActiveSoulResolver } from "./active-soul.ts";
import { lintSoul } from "./soul-lint.ts";
import { restrict } from "./soul-overlay.ts";
import { soulLine, soulPrompt } from "./soul-prompt.ts";
import { createProposalStore } from "./soul-proposal-store.ts";
import { createSoulVersionStore } from "./soul-version-store.ts";
import { failClosedTerms, loadSoulTerms, type SoulTerms } from "./soul-terms.ts";
import type { SoulDeps, SoulService } from "./types.ts";
import { createVersionFiles, versionNumber } from "./soul-version-files.ts";

export { soulHandlers } from "./soul-handlers.ts";
export { lintSoul } from "./soul-lint.ts";
export { decodeSoul } from "./soul-document.ts";
export { diffSouls } from "./soul-diff.ts";
export type { SoulDeps, SoulService } from "./types.ts";
export type { SoulOverlay } from "./soul-overlay.ts";
export { loadSoulTerms } from "./soul-terms.ts";
export { soulMigrations } from "./soul-migrations.ts";

/** The soul of one data folder. The first start copies the shipped versions into it. */
export function createSoul(deps: SoulDeps): SoulService {
  const { storage, ledger, redactor, enabled } = deps;
  const now = deps.now ?? Date.now;
  const log: Log = deps.log ?? (() => undefined);
  const files = createVersionFiles(join(deps.dataDir, "soul"));
  const shipped = createVersionFiles(deps.shippedDir);
  const versions = createSoulVersionStore(storage);
  const proposalStore = createProposalStore(storage);

  let isEmitting = false;
  let fingerprint = "";
  let cachedPrompt: { soul: ActiveSoul; prompt: { text: string; line: string; version: string } } | null = null;
  let terms: SoulTerms;
  let termsProblem: string | null = null;
  try {
    terms = loadSoulTerms(deps.configDir);
  } catch (error) {
    terms = failClosedTerms;
    termsProblem = `${error instanceof LancelotError ? error.message : "The soul terms could not be read."} Until then everything requires approval.`;
    log("soul terms unusable; everything requires approval", error);
  }

  const activation = createActivation({
    storage,
    ledger,
    files,
    versions,
    proposals: proposalStore,
    now,
    ...(deps.between === undefined ? {} : { between: deps.between }),
  });
  const activeSoul = createActiveSoulResolver({
    storage,
    files,
    shipped,
    versions,
    terms,
    termsProblem,
    compile: (soul) => compileSoul(soul, terms, redactor),
    now,
    found: (version, sha256) =>
      receipt(
        {
          actionType: "system",
          actionName: "soul.found",
          inputs: { title: "soul/ACTIVE was changed by hand", version, sha256 },
          riskTier: "T3",
        },
        { status: "success" },
      ),
    changed: ({ before, problem }) => {
      recordProblem(problem);
      if (before !== null || problem !== null) emitStatus();
    },
    log,
  });
  const proposals = createSoulProposals({
    storage,
    redactor,
    proposals: proposalStore,
    now,
    lint,
    base: () => {
      activeSoul.refresh();
      const version = activeSoul.version();
      return version === null ? null : { version, yaml: activeSoul.yaml(), sha256: soulHash(activeSoul.yaml()) };
    },
    nextVersion,
    receipt,
  });

  files.removeOrphans();
  for (const start of [install, activation.recover]) {
    try {
      start();
    } catch (error) {
      // The folder is not writable. The active soul is found without it, and `problem` reports it.
      log("soul folder not writable", error);
    }
  }
  activeSoul.refresh();
  fingerprint = proposalStore.fingerprint();

  /** Opened and closed inside the running transaction, so that a rollback removes it too. */
  function receipt(opening: ReceiptOpening, closing: ReceiptClosing): void {
    ledger.close(ledger.open(opening), closing);
  }

  function install(): void {
    storage.transaction(() => {
      if (files.list().length > 0 || versions.versions().length > 0 || files.readPointer().ok) return;
      const pointer = shipped.readPointer();
      if (!pointer.ok) return log(`shipped soul missing: ${pointer.problem}`);
      const at = new Date(now()).toISOString();
      for (const version of shipped.list()) {
        const text = shipped.readVersion(version);
        if (!text.ok) continue;
        files.addVersion(version, text.value);
        versions.add({ version, yaml: text.value, sha256: soulHash(text.value), origin: "shipped", at });
      }
      if (versions.get(pointer.value) === null) return;
      versions.activate(pointer.value, at);
      files.point(pointer.value);
    });
  }

  /** Records a problem once, by the first host that finds it, and again only after it was resolved. */
  function recordProblem(problem: string | null): void {
    if (versions.problem() === problem) return;
    storage.transaction(() => {
      if (versions.problem() === problem) return;
      versions.setProblem(problem);
      receipt(
        { actionType: "system", actionName: "soul.check", inputs: { title: "soul/ACTIVE" }, riskTier: "T0" },
        problem === null ? { status: "success" } : { status: "failure", errorMessage: problem },
      );
    });
  }

  function lint(yaml: string): SoulIssue[] {
    return lintSoul(yaml, termsProblem === null ? terms : undefined);
  }

  function nextVersion(): string {
    return `v${Math.max(0, ...[...files.list(), ...versions.versions()].map(versionNumber)) + 1}`;
  }

  function status(): SoulStatus {
    activeSoul.refresh();
    const version = activeSoul.version();
    const known = new Set([...files.list(), ...(version === null ? [] : [version])]);
    return {
      activeVersion: enabled() ? version : null,
      versions: [...known].sort((one, other) => versionNumber(one) - versionNumber(other)),
      pendingProposals: proposalStore.list({ status: ["pending", "approved"], limit: 200 }).map((one) => one.proposal),
      problem: enabled() ? activeSoul.problem() : null,
    };
  }

  function emitStatus(): void {
    // `status` refreshes the soul, which can call this again.
    if (isEmitting) return;
    isEmitting = true;
    try {
      deps.emit("soul", status());
      fingerprint = proposalStore.fingerprint();
    } catch (error) {
      log("soul event not sent", error);
    } finally {
      isEmitting = false;
    }
  }

  /** The signed text of a version, or else the text of its file. */
  function textOf(version: string): string {
    const signed = versions.get(version);
    if (signed !== null) return signed.yaml;
    const onDisk = files.readVersion(version);
    if (onDisk.ok) return onDisk.value;
    if (!files.list().includes(version)) throw new LancelotError("not_found", `No soul has the version ${version}.`);
    throw new LancelotError("conflict", onDisk.problem);
  }

  function requireEnabled(): void {
    if (!enabled()) {
      throw new LancelotError("disabled", "The soul is turned off and cannot be changed. Turn on the SOUL flag first.", {
        data: { flag: "SOUL" },
      });
    }
  }

  return {
    active: () => (enabled() ? activeSoul.current() : null),
    problem: () => (enabled() ? activeSoul.problem() : null),
    prompt() {
      if (!enabled()) return null;
      const soul = activeSoul.current();
      if (cachedPrompt?.soul !== soul) {
        const safe = (text: string): string => redactor.text(text).text;
        cachedPrompt = { soul, prompt: { text: safe(soulPrompt(soul)), line: safe(soulLine(soul)), version: soul.version } };
      }
      return cachedPrompt.prompt;
    },
    restricted: (overlay) => (enabled() ? restrict(activeSoul.current(), overlay, { terms, redactor }) : null),
    lint,
    status,
    notice() {
      try {
        activeSoul.current();
        if (proposalStore.fingerprint() !== fingerprint) emitStatus();
      } catch (error) {
        log("soul proposals not checked", error);
      }
    },
    get(version) {
      const active = activeSoul.version();
      const wanted = version ?? active;
      if (wanted === null) throw new LancelotError("not_found", "No soul is active. See soul.status for the reason.");
      const yaml = wanted === active ? activeSoul.yaml() : textOf(wanted);
      const { document, issues } = readSoul(yaml);
      if (document === null)
        throw new LancelotError("conflict", `Soul ${wanted} cannot be read: ${issues[0]?.message ?? "it is not a soul."}`);
      return { version: wanted, yaml, document, active: enabled() && wanted === active };
    },
    propose(request) {
      requireEnabled();
      const proposal = proposals.propose(request);
      emitStatus();
      return proposal;
    },
    proposals: ({ status: wanted, limit }) =>
      proposalStore.list({ limit, ...(wanted === undefined ? {} : { status: [wanted] }) }).map((one) => one.proposal),
    approve(id) {
      requireEnabled();
      const proposal = proposals.approve(id);
      emitStatus();
      return proposal;
    },
    reject(id, reason) {
      const proposal = proposals.reject(id, reason);
      emitStatus();
      return proposal;
    },
    activate(id) {
      requireEnabled();
      activation.run(() => proposals.plan(id));
      activeSoul.refresh();
      emitStatus();
      return proposals.get(id);
    },
    rollback(version) {
      requireEnabled();
      activeSoul.refresh();
      activation.run(() => {
        const yaml = textOf(version);
        const { document } = readSoul(yaml);
        const refusal = lint(yaml).find((issue) => issue.severity === "critical");
        if (refusal !== undefined) throw new LancelotError("conflict", `Soul ${version} cannot be activated: ${refusal.message}`);
        if (document?.version !== version)
          throw new LancelotError("conflict", `The file of soul ${version} declares version ${document?.version ?? "none"}.`);
        const from = activeSoul.version();
        if (from === version && activeSoul.problem() === null) throw new LancelotError("conflict", `Soul ${version} is already active.`);
        return { version, yaml, proposalId: null, actionName: "soul.rollback", inputs: { from } };
      });
      activeSoul.refresh();
      emitStatus();
      return status();
    },
  };
}
