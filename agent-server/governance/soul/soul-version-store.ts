import type { Storage } from "../../storage/storage.ts";
import { versionNumber } from "./soul-version-files.ts";

/** A signed version. */
export interface VersionRecord {
  readonly version: string;
  readonly sha256: string;
  readonly yaml: string;
}

export interface PendingActivation {
  readonly version: string;
  readonly proposalId: string | null;
  readonly hostId: string;
  /** Open until the activation ends. */
  readonly receiptId: string;
}

/** The stored versions: their signed texts and the history of activations. */
export interface SoulVersionStore {
  readonly get: (version: string) => VersionRecord | null;
  readonly add: (record: VersionRecord & { origin: "shipped" | "proposal" | "found"; proposalId?: string | null; at: string }) => void;
  /** Removes a version that was never active. */
  readonly remove: (version: string) => void;
  readonly versions: () => string[];
  /** Latest activation first, each version once. */
  readonly activated: () => VersionRecord[];
  readonly latest: () => string | null;
  readonly activate: (version: string, at: string) => void;
  readonly activating: () => PendingActivation | null;
  readonly setActivating: (activating: PendingActivation | null) => void;
  readonly problem: () => string | null;
  readonly setProblem: (problem: string | null) => void;
}

/** Call the writing methods inside `storage.transaction`. */
export function createSoulVersionStore({ db }: Pick<Storage, "db">): SoulVersionStore {
  const get = db.prepare<[string], VersionRecord>("SELECT version, sha256, yaml FROM soul_versions WHERE version = ?");
  const add = db.prepare(
    "INSERT INTO soul_versions (version, number, sha256, yaml, origin, proposal_id, recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const remove = db.prepare("DELETE FROM soul_versions WHERE version = ?");
  const versions = db.prepare<[], string>("SELECT version FROM soul_versions ORDER BY number").pluck();
  const activated = db.prepare<[], VersionRecord>(
    `SELECT v.version, v.sha256, v.yaml FROM soul_versions v
     JOIN (SELECT version, MAX(seq) AS seq FROM soul_activations GROUP BY version) a ON a.version = v.version ORDER BY a.seq DESC`,
  );
  const latest = db.prepare<[], string>("SELECT version FROM soul_activations ORDER BY seq DESC LIMIT 1").pluck();
  const activate = db.prepare("INSERT INTO soul_activations (version, at) VALUES (?, ?)");
  const activating = db.prepare<[], { version: string; proposal_id: string | null; host_id: string; receipt_id: string }>(
    "SELECT version, proposal_id, host_id, receipt_id FROM soul_activating",
  );
  const begin = db.prepare("INSERT OR REPLACE INTO soul_activating (id, version, proposal_id, host_id, receipt_id) VALUES (1, ?, ?, ?, ?)");
  const end = db.prepare("DELETE FROM soul_activating");
  const problem = db.prepare<[], string>("SELECT problem FROM soul_problem").pluck();
  const putProblem = db.prepare("INSERT OR REPLACE INTO soul_problem (id, problem) VALUES (1, ?)");
  const clearProblem = db.prepare("DELETE FROM soul_problem");
  return {
    get: (version) => get.get(version) ?? null,
    add: ({ version, sha256, yaml, origin, proposalId, at }) => {
      add.run(version, versionNumber(version), sha256, yaml, origin, proposalId ?? null, at);
    },
    remove: (version) => void remove.run(version),
    versions: () => versions.all(),
    activated: () => activated.all(),
    latest: () => latest.get() ?? null,
    activate: (version, at) => void activate.run(version, at),
    activating: () => {
      const row = activating.get();
      return row === undefined
        ? null
        : { version: row.version, proposalId: row.proposal_id, hostId: row.host_id, receiptId: row.receipt_id };
    },
    setActivating: (one) => {
      if (one === null) end.run();
      else begin.run(one.version, one.proposalId, one.hostId, one.receiptId);
    },
    problem: () => problem.get() ?? null,
    setProblem: (text) => {
      if (text === null) clearProblem.run();
      else putProblem.run(text);
    },
  };
}
