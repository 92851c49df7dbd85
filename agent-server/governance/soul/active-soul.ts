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

/** Milliseconds between looks at the file of the active version: its signed text is in force meanwhile. */
const fileLookInterval = 1000;

export interface ActiveSoulResolver {
  /** The soul of the next decision. Cheap while nothing changed: one look at `ACTIVE`. Never throws. */
  readonly current: () => ActiveSoul;
  /** Looks again at everything, also at what is checked now and then only. */
  readonly refresh: () => void;
  /** The version in force; null when none could be used and everything is asked. */
  readonly version: () => string | null;
  readonly yaml: () => string;
  readonly problem: () => string | null;
}

interface ResolvedSoul {
  readonly soul: ActiveSoul;
  readonly yaml: string;
  readonly usable: boolean;
  /** The last fall-back, not what the owner chose. */
  readonly shipped: boolean;
  readonly problem: string | null;
}

/** What is in force when no soul can be used at all, not even the one that ships: everything is asked. */
const lastResort: SoulDocument = {
  version: "v1",
  mission: "Do the owner's engineering work, with the owner's word for every step.",
  allegiance: "Lancelot serves one owner.",
  autonomy_posture: {
    level: "supervised",
    description: "No soul could be read, so everything is asked.",
    allowed_autonomous: [],
    requires_approval: ["everything"],
  },
  risk_rules: [],
  approval_rules: {
    default_timeout_seconds: 3600,
    escalation_on_timeout: "skip_and_log",
    channels: ["war_room", "chat", "notification", "terminal"],
  },
  tone_invariants: ["No silent degradation: errors and failures are told, never suppressed."],
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
 * Which soul is in force. `soul/ACTIVE` says which version; what that version says is its text as it was signed, kept in the
 * database, so that a file changed afterwards changes nothing but `problem`. A version that was put into the folder by hand is
 * signed when ACTIVE first names it, if it passes the lint. Where ACTIVE leads nowhere, the last soul that was in force stays.
 */
export function createActiveSoulResolver(deps: {
  storage: Storage;
  files: VersionFiles;
  shipped: VersionFiles;
  records: SoulVersionStore;
  terms: SoulTerms;
  /** Why the table of words cannot be used; null when it can. */
  termsProblem: string | null;
  compile: (soul: SoulText) => ActiveSoul;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Told, inside the transaction, of a version that a hand put in force. */
  found: (version: string, sha256: string) => void;
  /** Told when the soul in force or the problem with it changed. */
  changed: (news: { before: ActiveSoul | null; now: ActiveSoul; problem: string | null }) => void;
  log: Log;
}): ActiveSoulResolver {
  const { storage, files, records, terms } = deps;
  let resolved: ResolvedSoul | null = null;
  let pointer: Stats | undefined;
  let file: Stats | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let resolving = false;
  /** The database did not answer: look again soon. */
  let retry = false;

  /** A text as a soul that may be in force; else why not. */
  function usable(version: string, yaml: string): { soul: SoulText } | { problem: string } {
    const read = readSoul(yaml);
    const issues = lintRead(read, deps.termsProblem === null ? terms : undefined);
    if (read.document === null || isCritical(issues)) {
      const first = issues.find((issue) => issue.severity === "critical");
      const where = first?.line === undefined ? "" : ` (line ${first.line})`;
      return { problem: `soul_${version}.yaml cannot be used${where}: ${first?.message ?? "it is not a soul."}` };
    }
    if (read.document.version !== version) {
      return { problem: `soul_${version}.yaml says that it is ${read.document.version}. Its version must be ${version}.` };
    }
    return { soul: { version, yaml, document: read.document } };
  }

  /** The version ACTIVE names. */
  function pointed(): { text: SoulText; problem: string | null } | { problem: string } {
    const named = files.readPointer();
    if (!named.ok) return { problem: named.problem };
    const version = named.value;
    const onDisk = files.readVersion(version);
    const signed = records.get(version);
    if (signed !== null) {
      const checked = usable(version, signed.yaml);
      if ("problem" in checked) return checked;
      const problem = !onDisk.ok
        ? `${onDisk.problem} The text that was activated stays in force.`
        : soulHash(onDisk.value) === signed.sha256
          ? null
          : `soul_${version}.yaml was changed after it was activated. The text that was activated stays in force; propose the change as a new version.`;
      follow(version);
      return { text: checked.soul, problem };
    }
    if (!onDisk.ok) return { problem: onDisk.problem };
    const checked = usable(version, onDisk.value);
    if ("problem" in checked) return checked;
    sign(checked.soul);
    return { text: checked.soul, problem: null };
  }

  const time = (): string => new Date(deps.now()).toISOString();

  /** The pointer was moved to a version that was signed before: by a hand, unless an activation is under way. */
  function follow(version: string): void {
    if (records.latest() === version || records.activating()?.version === version) return;
    storage.transaction(() => {
      if (records.latest() === version || records.activating()?.version === version) return;
      records.activate(version, time());
      deps.found(version, records.get(version)?.sha256 ?? "");
    });
  }

  function sign({ version, yaml }: SoulText): void {
    storage.transaction(() => {
      if (records.get(version) === null) records.add({ version, yaml, sha256: soulHash(yaml), origin: "found", at: time() });
      records.activate(version, time());
      deps.found(version, soulHash(yaml));
    });
  }

  function resolve(): ResolvedSoul {
    let problem: string;
    try {
      const found = pointed();
      if ("text" in found) return stand(found.text, found.problem);
      problem = found.problem;
    } catch (error) {
      deps.log("the active soul could not be read", error);
      retry = true;
      problem = "The soul's records could not be read.";
    }
    // In memory first: what this host decided by a moment ago needs no database to stay in force.
    if (resolved?.usable === true && !resolved.shipped)
      return { ...resolved, problem: `${problem} Soul ${resolved.soul.version} stays in force.` };
    for (const record of earlier()) {
      const checked = usable(record.version, record.yaml);
      if ("soul" in checked) return stand(checked.soul, `${problem} Soul ${record.version} stays in force.`);
    }
    const version = deps.shipped.readPointer();
    const text = version.ok ? deps.shipped.readVersion(version.value) : version;
    if (version.ok && text.ok) {
      const checked = usable(version.value, text.value);
      if ("soul" in checked) return { ...stand(checked.soul, `${problem} The soul that ships with Lancelot is in force.`), shipped: true };
    }
    const words = `${problem} No other soul could be used either, so everything is asked.`;
    return { ...stand({ version: "v1", yaml: "", document: lastResort }, words), usable: false };
  }

  function earlier() {
    try {
      return records.activated();
    } catch {
      return [];
    }
  }

  function stand(text: SoulText, problem: string | null): ResolvedSoul {
    const said = [deps.termsProblem, problem].filter((one) => one !== null).join(" ");
    const kept = resolved?.usable === true && resolved.yaml === text.yaml && resolved.soul.version === text.version ? resolved.soul : null;
    return { soul: kept ?? deps.compile(text), yaml: text.yaml, usable: true, shipped: false, problem: said === "" ? null : said };
  }

  function look(pointerNow: Stats | undefined): ResolvedSoul {
    if (resolving && resolved !== null) return resolved;
    resolving = true;
    const before = resolved;
    try {
      // Taken before the files are read: what changes in between is seen by the next look.
      pointer = pointerNow;
      retry = false;
      resolved = resolve();
      file = files.versionStat(resolved.soul.version);
      lookedAt = deps.now();
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
      if (resolved === null || !same(now, pointer)) return look(now);
      if (Math.abs(deps.now() - lookedAt) >= fileLookInterval) {
        lookedAt = deps.now();
        const fileNow = files.versionStat(resolved.soul.version);
        if (retry || !same(fileNow, file)) return look(now);
      }
      return resolved;
    } catch (error) {
      deps.log("the soul could not be looked at", error);
      resolved ??= {
        ...stand({ version: "v1", yaml: "", document: lastResort }, "The soul could not be read, so everything is asked."),
        usable: false,
      };
      return resolved;
    }
  }

  return {
    current: () => current().soul,
    refresh: () => {
      try {
        look(files.pointerStat());
      } catch (error) {
        deps.log("the soul could not be looked at", error);
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
