import type { Storage } from "./types.ts";

/** The module's own table. */
export const leasesMigration = {
  name: "storage-2-leases",
  sql: `CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    host_id TEXT NOT NULL,
    until INTEGER NOT NULL
  ) STRICT`,
};

/** Ensures that one host of the data folder at a time does some work. A lease ends with its host or when it expires. */
export interface Lease {
  /** Takes or renews the lease for `ms` milliseconds; false while another live host holds it. */
  take(ms: number): boolean;
  release(): void;
}

/** Creates this host's handle of the lease `name`. `now` is in milliseconds since 1970. */
export function createLease(deps: { storage: Storage; name: string; now: () => number }): Lease {
  const { storage, name, now } = deps;
  const { db, hostId } = storage;
  const find = db.prepare<[string], { host_id: string; until: number }>("SELECT host_id, until FROM leases WHERE name = ?");
  const write = db.prepare(
    "INSERT INTO leases (name, host_id, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET host_id = excluded.host_id, until = excluded.until",
  );
  const remove = db.prepare("DELETE FROM leases WHERE name = ? AND host_id = ?");
  return {
    take: (ms) =>
      storage.transaction(() => {
        const held = find.get(name);
        if (held !== undefined && held.host_id !== hostId && held.until > now() && storage.hostAlive(held.host_id)) return false;
        write.run(name, hostId, now() + ms);
        return true;
      }),
    release: () => {
      if (db.open) remove.run(name, hostId);
    },
  };
}
