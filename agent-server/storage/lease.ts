import type { Storage } from "./types.ts";

/** Own table of this room. */
export const leasesMigration = {
  name: "storage-2-leases",
  sql: `CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    host_id TEXT NOT NULL,
    until INTEGER NOT NULL
  ) STRICT`,
};

/** Work that one host of the data folder does at a time. A lease ends with its host, or after its time. */
export interface Lease {
  /** Takes or renews it for `ms` milliseconds; false while another living host holds it. */
  take(ms: number): boolean;
  release(): void;
}

/** The lease `name` of this host. `now` is in milliseconds since 1970. */
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
