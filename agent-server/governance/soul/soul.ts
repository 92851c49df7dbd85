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

/** The soul of one data folder. On its first start the versions that ship are copied into it. */
export function createSoul(deps: SoulDeps): SoulService {
  const { storage, ledger, redactor, enabled } = deps;
  const now = deps.now ?? Date.now;
  const log: Log = deps.log ?? (() => undefined);
  const files = createVersionFiles(join(deps.dataDir, "soul"));
  const shipped = createVersionFiles(deps.shippedDir);
  const records = createSoulVersionStore(storage);
  const proposals = createProposalStore(storage);

  let telling = false;
  let fingerprint = "";
  let told: { soul: ActiveSoul; prompt: { text: string; line: string; version: string } } | null = null;
  let terms: SoulTerms;
  let termsProblem: string | null = null;
  try {
    terms = loadSoulTerms(deps.configDir);
  } catch (error) {
    terms = failClosedTerms;
    termsProblem = `${error instanceof LancelotError ? error.message : "The words of the soul could not be read."} Until then everything is asked.`;
    log("the words of the soul could not be read", error);
  }

  const activation = createActivation({
    storage,
    ledger,
    files,
    records,
    proposals,
    now,
    ...(deps.between === undefined ? {} : { between: deps.between }),
  });
  const activeSoul = createActiveSoulResolver({
    storage,
    files,
    shipped,
    records,
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
      noteProblem(problem);
      if (before !== null || problem !== null) tell();
    },
    log,
  });
  const amendments = createSoulProposals({
    storage,
    redactor,
    proposals,
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

  files.sweep();
  for (const start of [install, activation.recover]) {
    try {
      start();
    } catch (error) {
      // A folder that cannot be written: what is in force is found without it, and `problem` says so.
      log("the soul's folder could not be put in order", error);
    }
  }
  activeSoul.refresh();
  fingerprint = proposals.fingerprint();

  /** Opened and closed inside the running transaction, so that it is undone with it. */
  function receipt(opening: ReceiptOpening, closing: ReceiptClosing): void {
    ledger.close(ledger.open(opening), closing);
  }

  function install(): void {
    storage.transaction(() => {
      if (files.list().length > 0 || records.versions().length > 0 || files.readPointer().ok) return;
      const pointer = shipped.readPointer();
      if (!pointer.ok) return log(`the soul that ships is not there: ${pointer.problem}`);
      const at = new Date(now()).toISOString();
      for (const version of shipped.list()) {
        const text = shipped.readVersion(version);
        if (!text.ok) continue;
        files.addVersion(version, text.value);
        records.add({ version, yaml: text.value, sha256: soulHash(text.value), origin: "shipped", at });
      }
      if (records.get(pointer.value) === null) return;
      records.activate(pointer.value, at);
      files.point(pointer.value);
    });
  }

  /** A problem is recorded once, by the first host that meets it, and again only after it was gone. */
  function noteProblem(problem: string | null): void {
    if (records.problem() === problem) return;
    storage.transaction(() => {
      if (records.problem() === problem) return;
      records.setProblem(problem);
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
    return `v${Math.max(0, ...[...files.list(), ...records.versions()].map(versionNumber)) + 1}`;
  }

  function status(): SoulStatus {
    activeSoul.refresh();
    const version = activeSoul.version();
    const known = new Set([...files.list(), ...(version === null ? [] : [version])]);
    return {
      activeVersion: enabled() ? version : null,
      versions: [...known].sort((one, other) => versionNumber(one) - versionNumber(other)),
      pendingProposals: proposals.list({ status: ["pending", "approved"], limit: 200 }).map((one) => one.proposal),
      problem: enabled() ? activeSoul.problem() : null,
    };
  }

  function tell(): void {
    // What `status` finds is part of what is being told.
    if (telling) return;
    telling = true;
    try {
      deps.emit("soul", status());
      fingerprint = proposals.fingerprint();
    } catch (error) {
      log("the soul's event could not be sent", error);
    } finally {
      telling = false;
    }
  }

  /** The text of a version: as it was signed, else as its file says. */
  function textOf(version: string): string {
    const signed = records.get(version);
    if (signed !== null) return signed.yaml;
    const onDisk = files.readVersion(version);
    if (onDisk.ok) return onDisk.value;
    if (!files.list().includes(version)) throw new LancelotError("not_found", `There is no soul ${version}.`);
    throw new LancelotError("conflict", onDisk.problem);
  }

  function needEnabled(): void {
    if (!enabled()) {
      throw new LancelotError("disabled", "The soul is switched off (flag SOUL), so it is not changed. Switch the flag on first.", {
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
      if (told?.soul !== soul) {
        const safe = (text: string): string => redactor.text(text).text;
        told = { soul, prompt: { text: safe(soulPrompt(soul)), line: safe(soulLine(soul)), version: soul.version } };
      }
      return told.prompt;
    },
    restricted: (overlay) => (enabled() ? restrict(activeSoul.current(), overlay, { terms, redactor }) : null),
    lint,
    status,
    notice() {
      try {
        activeSoul.current();
        if (proposals.fingerprint() !== fingerprint) tell();
      } catch (error) {
        log("the soul's proposals could not be looked at", error);
      }
    },
    get(version) {
      const active = activeSoul.version();
      const wanted = version ?? active;
      if (wanted === null) throw new LancelotError("not_found", "No soul is in force. See soul.status for the reason.");
      const yaml = wanted === active ? activeSoul.yaml() : textOf(wanted);
      const { document, issues } = readSoul(yaml);
      if (document === null)
        throw new LancelotError("conflict", `Soul ${wanted} cannot be read: ${issues[0]?.message ?? "it is not a soul."}`);
      return { version: wanted, yaml, document, active: enabled() && wanted === active };
    },
    propose(proposing) {
      needEnabled();
      const proposal = amendments.propose(proposing);
      tell();
      return proposal;
    },
    proposals: ({ status: wanted, limit }) =>
      proposals.list({ limit, ...(wanted === undefined ? {} : { status: [wanted] }) }).map((one) => one.proposal),
    approve(id) {
      needEnabled();
      const proposal = amendments.approve(id);
      tell();
      return proposal;
    },
    reject(id, reason) {
      const proposal = amendments.reject(id, reason);
      tell();
      return proposal;
    },
    activate(id) {
      needEnabled();
      activation.carry(() => amendments.plan(id));
      activeSoul.refresh();
      tell();
      return amendments.get(id);
    },
    rollback(version) {
      needEnabled();
      activeSoul.refresh();
      activation.carry(() => {
        const yaml = textOf(version);
        const { document } = readSoul(yaml);
        const refusal = lint(yaml).find((issue) => issue.severity === "critical");
        if (refusal !== undefined) throw new LancelotError("conflict", `Soul ${version} cannot be activated: ${refusal.message}`);
        if (document?.version !== version)
          throw new LancelotError("conflict", `The text of soul ${version} says that it is ${document?.version ?? "none"}.`);
        const from = activeSoul.version();
        if (from === version && activeSoul.problem() === null) throw new LancelotError("conflict", `Soul ${version} is active already.`);
        return { version, yaml, proposalId: null, actionName: "soul.rollback", inputs: { from } };
      });
      activeSoul.refresh();
      tell();
      return status();
    },
  };
}
