import { LancelotError } from "../../contract/errors.ts";
import { join } from "node:path";
import type { SoulIssue } from "../../contract/soul.ts";
import type { ReceiptClosing, ReceiptOpening } from "../../receipts/receipts.ts";
import type { Log } from "../../security/security.ts";
import type { ActiveSoul } from "../decision-facts.ts";
import { createActivation } from "./soul-activation.ts";
import { createSoulProposals } from "./soul-proposals.ts";
import { compileSoul, soulHash } from "./compile-soul.ts";
import { readSoul } from "./soul-document.ts";
import { type ActiveSoulResolver, createActiveSoulResolver } from "./active-soul.ts";
import { installShippedSoul } from "./shipped-soul.ts";
import { lintSoul } from "./soul-lint.ts";
import { planRollback, versionText } from "./soul-rollback.ts";
import { createSoulStatusReporter } from "./soul-status.ts";
import { restrict } from "./soul-scope.ts";
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

export { loadSoulTerms } from "./soul-terms.ts";
export { soulMigrations } from "./soul-migrations.ts";

/** Restricted souls that are kept for the next decision. */
const maxScopes = 100;

/** The soul of one data folder. The first start copies the shipped versions into it. */
export function createSoul(deps: SoulDeps): SoulService {
  const { storage, ledger, redactor, enabled } = deps;
  const now = deps.now ?? Date.now;
  const log: Log = deps.log ?? (() => undefined);
  const files = createVersionFiles(join(deps.dataDir, "soul"));
  const shipped = createVersionFiles(deps.shippedDir);
  const versions = createSoulVersionStore(storage);
  const proposalStore = createProposalStore(storage);

  /** Restricted souls of one base by the text of their scope, so that a scope that was changed is another one. */
  let restrictedSouls: { readonly base: ActiveSoul; readonly byScope: Map<string, ActiveSoul> } | null = null;
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
  const { status, emitStatus, emitIfChanged, markEmitted } = createSoulStatusReporter({
    activeSoul: () => activeSoul,
    files,
    proposals: proposalStore,
    enabled,
    emit: deps.emit,
    log,
  });
  const activeSoul: ActiveSoulResolver = createActiveSoulResolver({
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
  for (const start of [() => installShippedSoul({ storage, files, shipped, versions, now, log }), activation.recover]) {
    try {
      start();
    } catch (error) {
      // The folder is not writable. The active soul is found without it, and `problem` reports it.
      log("soul folder not writable", error);
    }
  }
  activeSoul.refresh();
  markEmitted();

  /** Opened and closed inside the running transaction, so that a rollback removes it too. */
  function receipt(opening: ReceiptOpening, closing: ReceiptClosing): void {
    ledger.close(ledger.open(opening), closing);
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

  function requireEnabled(): void {
    if (!enabled()) {
      throw new LancelotError("disabled", "The soul is turned off and cannot be changed. Turn on the flag SOUL first.", {
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
    restricted(scope) {
      if (!enabled()) return null;
      const base = activeSoul.current();
      if (restrictedSouls?.base !== base || restrictedSouls.byScope.size >= maxScopes) restrictedSouls = { base, byScope: new Map() };
      const text = JSON.stringify(scope);
      const soul = restrictedSouls.byScope.get(text) ?? restrict(base, scope, { terms, redactor });
      restrictedSouls.byScope.set(text, soul);
      return soul;
    },
    lint,
    status,
    notice: emitIfChanged,
    get(version) {
      const active = activeSoul.version();
      const wanted = version ?? active;
      if (wanted === null) throw new LancelotError("not_found", "No soul is active. War Room → Soul shows the reason.");
      const yaml = wanted === active ? activeSoul.yaml() : versionText(wanted, versions, files);
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
      activation.run(() => planRollback(version, versionText(version, versions, files), { activeSoul, lint }));
      activeSoul.refresh();
      emitStatus();
      return status();
    },
  };
}
