import type { Stats } from "node:fs";
import type { ActiveSoul } from "../decision-facts.ts";
import type { SoulDocument } from "../../contract/soul.ts";
import type { Log } from "../../security/security.ts";
import type { Storage } from "../../storage/storage.ts";
import { type SoulText, soulHash } from "./compile-soul.ts";
import { readSoul } from "./soul-document.ts";
import { isCritical, lintRead } from "./soul-lint.ts";
import type { SoulVersionStore } from "./soul-version-store.ts";
import type { SoulTerms } from "./soul-terms.ts";
import type { VersionFiles } from "./soul-version-files.ts";

/** Milliseconds between checks of the active version's file. Its signed text stays active meanwhile. */
const fileCheckInterval = 1000;

export interface ActiveSoulResolver {
  /** The soul for the next decision. Cheap while nothing changed: one `stat` of `ACTIVE`. Never throws. */
  readonly current: () => ActiveSoul;
  /** Checks everything again, including the version file that is otherwise checked periodically. */
  readonly refresh: () => void;
  /** The active version; null when none is usable and everything requires approval. */
  readonly version: () => string | null;
  readonly yaml: () => string;
  readonly problem: () => string | null;
}

interface ResolvedSoul {
  readonly soul: ActiveSoul;
  readonly yaml: string;
  readonly usable: boolean;
  /** True for the shipped soul as a last fallback. */
  readonly shipped: boolean;
  readonly problem: string | null;
}

/** Active when no soul is usable, not even the shipped one: everything requires approval. */
const fallbackSoul: SoulDocument = {
  version: "v1",
  mission: "Do the owner's engineering work, with the owner's approval for every step.",
  allegiance: "Lancelot serves one owner.",
  autonomy_posture: {
    level: "supervised",
    description: "No soul could be read, so everything requires approval.",
    allowed_autonomous: [],
    requires_approval: ["everything"],
  },
  risk_rules: [],
  approval_rules: {
    default_timeout_seconds: 3600,
    escalation_on_timeout: "skip_and_log",
    channels: ["war_room", "chat", "notification", "terminal"],
  },
  tone_invariants: ["No silent degradation: report errors and failures, never suppress them."],
  memory_ethics: ["Never store secrets or personal data."],
  scheduling_boundaries: {
    max_concurrent_jobs: 0,
    max_job_duration_seconds: 1,
    no_autonomous_irreversible: true,
    require_ready_state: true,
    description: "",
  },
};

/**
 * Resolves the active soul. `soul/ACTIVE` names the version, and the database holds its signed text, so that a later edit of the
 * file changes only `problem`. A version that was added to the folder by hand is signed when ACTIVE first names it, if it passes
 * the lint. When ACTIVE is unusable, the last active soul stays active.
 */
export function createActiveSoulResolver(deps: {
  storage: Storage;
  files: VersionFiles;
  shipped: VersionFiles;
  versions: SoulVersionStore;
  terms: SoulTerms;
  /** Why the terms table is unusable; null when it is usable. */
  termsProblem: string | null;
  compile: (soul: SoulText) => ActiveSoul;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Called inside the transaction for a version that was activated by hand. */
  found: (version: string, sha256: string) => void;
  /** Called when the active soul or its problem changed. */
  changed: (change: { before: ActiveSoul | null; now: ActiveSoul; problem: string | null }) => void;
  log: Log;
}): ActiveSoulResolver {
  const { storage, files, versions, terms } = deps;
  let resolved: ResolvedSoul | null = null;
  let pointer: Stats | undefined;
  let file: Stats | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let resolving = false;
  /** True after a database error: check again soon. */
  let retry = false;

  /** Validates a text as a soul that can be active. */
  function usable(version: string, yaml: string): { soul: SoulText } | { problem: string } {
    const read = readSoul(yaml);
    const issues = lintRead(read, deps.termsProblem === null ? terms : undefined);
    if (read.document === null || isCritical(issues)) {
      const first = issues.find((issue) => issue.severity === "critical");
      const where = first?.line === undefined ? "" : ` (line ${first.line})`;
      return { problem: `soul_${version}.yaml cannot be used${where}: ${first?.message ?? "it is not a soul."}` };
    }
    if (read.document.version !== version) {
      return { problem: `soul_${version}.yaml declares version ${read.document.version}. Set it to ${version}.` };
    }
    return { soul: { version, yaml, document: read.document } };
  }

  /** The version that ACTIVE names. */
  function readPointedVersion(): { text: SoulText; problem: string | null } | { problem: string } {
    const named = files.readPointer();
    if (!named.ok) return { problem: named.problem };
    const version = named.value;
    const onDisk = files.readVersion(version);
    const signed = versions.get(version);
    if (signed !== null) {
      const checked = usable(version, signed.yaml);
      if ("problem" in checked) return checked;
      const problem = !onDisk.ok
        ? `${onDisk.problem} The activated text stays active.`
        : soulHash(onDisk.value) === signed.sha256
          ? null
          : `soul_${version}.yaml was changed after its activation. The activated text stays active; propose the change as a new version.`;
      recordManualActivation(version);
      return { text: checked.soul, problem };
    }
    if (!onDisk.ok) return { problem: onDisk.problem };
    const checked = usable(version, onDisk.value);
    if ("problem" in checked) return checked;
    sign(checked.soul);
    return { text: checked.soul, problem: null };
  }

  const time = (): string => new Date(deps.now()).toISOString();

  /** Records that the pointer was moved by hand to a signed version, unless an activation is in progress. */
  function recordManualActivation(version: string): void {
    if (versions.latest() === version || versions.activating()?.version === version) return;
    storage.transaction(() => {
      if (versions.latest() === version || versions.activating()?.version === version) return;
      versions.activate(version, time());
      deps.found(version, versions.get(version)?.sha256 ?? "");
    });
  }

  function sign({ version, yaml }: SoulText): void {
    storage.transaction(() => {
      if (versions.get(version) === null) versions.add({ version, yaml, sha256: soulHash(yaml), origin: "found", at: time() });
      versions.activate(version, time());
      deps.found(version, soulHash(yaml));
    });
  }

  function resolve(): ResolvedSoul {
    let problem: string;
    try {
      const found = readPointedVersion();
      if ("text" in found) return activeFrom(found.text, found.problem);
      problem = found.problem;
    } catch (error) {
      deps.log("active soul not readable", error);
      retry = true;
      problem = "The stored soul versions could not be read.";
    }
    // The soul in memory comes first: it stays active without the database.
    if (resolved?.usable === true && !resolved.shipped)
      return { ...resolved, problem: `${problem} Soul ${resolved.soul.version} stays active.` };
    for (const record of earlierVersions()) {
      const checked = usable(record.version, record.yaml);
      if ("soul" in checked) return activeFrom(checked.soul, `${problem} Soul ${record.version} stays active.`);
    }
    const version = deps.shipped.readPointer();
    const text = version.ok ? deps.shipped.readVersion(version.value) : version;
    if (version.ok && text.ok) {
      const checked = usable(version.value, text.value);
      if ("soul" in checked) return { ...activeFrom(checked.soul, `${problem} The soul shipped with Lancelot is active.`), shipped: true };
    }
    const message = `${problem} No other soul is usable either, so everything requires approval.`;
    return { ...activeFrom({ version: "v1", yaml: "", document: fallbackSoul }, message), usable: false };
  }

  function earlierVersions() {
    try {
      return versions.activated();
    } catch {
      return [];
    }
  }

  function activeFrom(text: SoulText, problem: string | null): ResolvedSoul {
    const problems = [deps.termsProblem, problem].filter((one) => one !== null).join(" ");
    const unchanged =
      resolved?.usable === true && resolved.yaml === text.yaml && resolved.soul.version === text.version ? resolved.soul : null;
    return {
      soul: unchanged ?? deps.compile(text),
      yaml: text.yaml,
      usable: true,
      shipped: false,
      problem: problems === "" ? null : problems,
    };
  }

  function check(pointerNow: Stats | undefined): ResolvedSoul {
    if (resolving && resolved !== null) return resolved;
    resolving = true;
    const before = resolved;
    try {
      // Taken before the files are read, so that the next check sees a change in between.
      pointer = pointerNow;
      retry = false;
      resolved = resolve();
      file = files.versionStat(resolved.soul.version);
      checkedAt = deps.now();
      if (before === null || before.soul !== resolved.soul || before.problem !== resolved.problem) {
        deps.changed({ before: before?.soul ?? null, now: resolved.soul, problem: resolved.problem });
      }
      return resolved;
    } finally {
      resolving = false;
    }
  }

  function current(): ResolvedSoul {
    try {
      const now = files.pointerStat();
      if (resolved === null || !same(now, pointer)) return check(now);
      if (Math.abs(deps.now() - checkedAt) >= fileCheckInterval) {
        checkedAt = deps.now();
        const fileNow = files.versionStat(resolved.soul.version);
        if (retry || !same(fileNow, file)) return check(now);
      }
      return resolved;
    } catch (error) {
      deps.log("soul check failed", error);
      resolved ??= {
        ...activeFrom({ version: "v1", yaml: "", document: fallbackSoul }, "The soul could not be read, so everything requires approval."),
        usable: false,
      };
      return resolved;
    }
  }

  return {
    current: () => current().soul,
    refresh: () => {
      try {
        check(files.pointerStat());
      } catch (error) {
        deps.log("soul check failed", error);
      }
    },
    version: () => {
      const { soul, usable: fit } = current();
      return fit ? soul.version : null;
    },
    yaml: () => current().yaml,
    problem: () => current().problem,
  };
}

function same(one: Stats | undefined, other: Stats | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.ino === other.ino &&
    one.mtimeMs === other.mtimeMs &&
    one.ctimeMs === other.ctimeMs &&
    one.size === other.size &&
    one.mode === other.mode
  );
}
