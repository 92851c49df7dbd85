import { LancelotError } from "../contract/errors.ts";
import type { Params, Result } from "../contract/table.ts";
import { createBlockVersions } from "./core-block-versions.ts";
import { createCommits } from "./commits.ts";
import { createCompiler } from "./compiler/compiler.ts";
import { createSecurityFilter } from "./compiler/security-filter.ts";
import { createCompiledContextStore } from "./compiled-context-store.ts";
import { createCoreBlocks } from "./core-blocks.ts";
import { createEpisodes, createTextOf } from "./episodes.ts";
import { createGates } from "./gates/gates.ts";
import { createInstructionRules } from "./gates/instruction-rules.ts";
import { scrub } from "./gates/secret-gate.ts";
import { viewItem } from "./item-view.ts";
import { createMemoryJobs } from "./jobs/memory-jobs.ts";
import type { Memory, MemoryDeps } from "./types.ts";
import { createChangeNotice } from "./change-notice.ts";
import { createOwnerProfileFiles } from "./owner-profile-files.ts";
import { placeOf } from "./statement-placement.ts";
import { createQuarantineStore } from "./quarantine-store.ts";
import { createQuarantineCheck } from "./quarantine-entry-check.ts";
import { createQuarantine } from "./quarantine.ts";
import { createMemoryIndex } from "./search/text-index.ts";
import { minScore } from "./search/search-ranking.ts";
import { createMemorySearch } from "./search/memory-search.ts";
import { createMemorySettings } from "./memory-settings.ts";
import { createMemoryStore } from "./item-store.ts";

/** The workspace when no folder is open. */
const noWorkspace = "-";

/** The highest values of the settings by which commits and compiled contexts are removed. */
const longestKept = { snapshots: 1_000, contexts: 500, open_minutes: 1_440 };

/** Connects the parts of memory. */
export function createMemory(deps: MemoryDeps): Memory {
  const { storage, ledger, redactor, sanitizer, timeline, evidence, forbids, estimateTokens, dataDir, configDir, log } = deps;
  const now = deps.now ?? Date.now;
  const workspace = deps.workspace ?? noWorkspace;
  const settingsFile = createMemorySettings({ configDir, dataDir, onProblem: log });
  /** While the owner's limits cannot be read, the longest limits apply, so that nothing is removed too early. */
  const settings = () => {
    const { value, problem } = settingsFile.read();
    return problem === null ? value : { ...value, ...longestKept };
  };
  const textOf = createTextOf(timeline);
  const notice = createChangeNotice(storage, () => deps.emit("memory", {}));
  const { changed } = notice;

  const index = createMemoryIndex(storage);
  const store = createMemoryStore({ storage, index, textOf, workspace });
  const rows = createQuarantineStore({ storage, workspace, now });
  const instructions = configDir === null ? null : createInstructionRules(configDir, log);
  const gates = createGates({ redactor, sanitizer, instructions, settings, forbids, evidence, log });
  const commits = createCommits({
    ...{ storage, store, gates, ledger, settings, estimateTokens, workspace, now, changed },
    quarantine: rows,
    scrub: (text) => scrub(text, redactor),
    verify: createQuarantineCheck({ store, gates }),
  });
  const quarantine = createQuarantine({ storage, store, commits, rows, gates, ledger, redactor, now, workspace, changed });
  const search = createMemorySearch({ storage, store, textOf, workspace, now });
  const filter = createSecurityFilter({ sanitizer, redactor });
  const contexts = createCompiledContextStore({ storage, workspace, settings });
  const blocks = createCoreBlocks({
    ...{ store, settings, estimateTokens, soul: deps.soul, filter, now },
    ownerFiles: createOwnerProfileFiles({ dataDir, redactor }),
    versions: createBlockVersions(storage, workspace),
  });
  const compiler = createCompiler({
    ...{ storage, ledger, redactor, search, blocks, contexts, filter, settings, estimateTokens, soul: deps.soul, workspace, now },
    minimalScore: minScore,
  });
  const { summarize } = deps;
  const episodes = createEpisodes({ storage, store, commits, gates, timeline, ledger, settings, workspace, now, summarize, changed });
  const jobs = createMemoryJobs({
    ...{ storage, store, index, commits, gates, ledger, timeline, settings, workspace, now, summarize, episodes, textOf, changed, log },
    quarantine: rows,
    blocks: () => blocks.blocks(),
    enabled: deps.enabled,
  });

  /** Refuses calls while memory is off. */
  function on<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      if (!deps.enabled())
        throw new LancelotError("disabled", "Memory is turned off. Turn on the flag MEMORY_VNEXT to use it.", {
          data: { flag: "MEMORY_VNEXT" },
        });
      return work(...args);
    };
  }

  const status = (): Result<"memory.status"> => {
    const last = commits.list({ limit: 1 }).items[0];
    return {
      tiers: store.counts(now()),
      blocks: blocks.blocks().map(({ block, tokens, cap, version, updatedAt }) => ({ block, tokens, cap, version, updatedAt })),
      quarantined: rows.pending(),
      openCommits: commits.open(),
      lastCommitAt: last?.finishedAt ?? null,
      problem: jobs.problem(),
    };
  };

  const find = (params: Params<"memory.search">, questId: string | null = null): Result<"memory.search"> => {
    const { query, tiers, namespace, tags, minConfidence, limit, cursor } = params;
    const { found, nextCursor } = search.search(
      {
        query,
        tiers: tiers ?? ["core", "working", "episodic", "archival"],
        namespace: namespace ?? null,
        tags: tags ?? [],
        minConfidence: minConfidence ?? 0,
        ...{ limit, questId, now: now() },
      },
      cursor,
    );
    return {
      items: found.map(({ item, text, score, snippet }) => ({ item: viewItem(item, text), score, snippet })),
      ...(nextCursor === undefined ? {} : { nextCursor }),
    };
  };

  const item = (id: string): Result<"memory.item"> => {
    const stored = store.get(id);
    const history = commits.history(id);
    if (stored === null && history.length === 0) throw new LancelotError("not_found", `There is no item ${id}.`);
    return { item: stored === null ? null : viewItem(stored, textOf(stored)), history };
  };

  return {
    enabled: deps.enabled,
    proposes: () => deps.enabled() && settings().propose,
    status: on(status),
    core: on(() => blocks.blocks()),
    search: on(find),
    item: on(item),

    begin: on(commits.begin),
    edit: on((commitId, edit, author, parentId) => commits.edit(commitId, edit, author, parentId ?? null)),
    staged: on(commits.staged),
    finish: on((commitId, author, parentId) => commits.finish(commitId, author, parentId ?? null)),
    abandon: on(commits.abandon),
    rollback: on((request, author, parentId) => commits.rollback(request, author, parentId ?? null)),
    commits: on(commits.list),
    commit: on(commits.get),
    lastCommits: on(commits.last),

    quarantine: on(quarantine.list),
    quarantined: on((id) => {
      const entry = rows.get(id);
      if (entry === null) throw new LancelotError("not_found", `There is no quarantined entry ${id}.`);
      return quarantine.toEntry(entry);
    }),
    promote: on((id, author, reason, parentId) => quarantine.promote(id, author, reason, parentId ?? null)),
    deny: on((id, author, reason, parentId) => quarantine.deny(id, author, reason, parentId ?? null)),
    quarantineItem: on((of, reason, author, parentId) => quarantine.quarantineItem(of, reason, author, parentId ?? null)),

    placeOf,
    meant: on((text, questId) => {
      const { item: clear, candidates } = search.meant(text, questId);
      return {
        item: clear === null ? null : viewItem(clear, textOf(clear)),
        candidates: candidates.map((one) => viewItem(one, textOf(one))),
      };
    }),

    compile: on(compiler.compile),
    contexts: on(contexts.list),
    context: on(contexts.get),

    // Imports and exports are rare, so their code is loaded on demand.
    export: on(async (format) => {
      const { exportMemory } = await import("./transfer/export-memory.ts");
      return exportMemory({ storage, store, workspace, now }, format);
    }),
    import: on(async (params, author, parentId) => {
      const { importMemory } = await import("./transfer/import-memory.ts");
      const clean = (text: string): string => scrub(text, redactor);
      const of = { storage, store, workspace, now, commits, quarantine: rows, gates, settings, scrub: clean };
      return importMemory(of, params, author, parentId ?? null);
    }),

    jobs: on(jobs.jobs),
    runJob: on(jobs.runJob),
    maintain: (signal) => (deps.enabled() ? jobs.maintain(signal) : Promise.resolve()),

    questEnded(of) {
      if (deps.enabled()) episodes.questEnded(of);
    },
    questDeleted(questId) {
      // A deleted task's data is deleted even while memory is off.
      episodes.questDeleted(questId);
      contexts.dropQuest(questId);
    },
    notice: notice.look,
    configProblem: () => settingsFile.read().problem,
    reconcile: commits.reconcile,
  };
}
