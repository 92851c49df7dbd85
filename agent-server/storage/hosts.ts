import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import type Database from "better-sqlite3";

/** The module's own table, created before those of other modules. */
export const hostsMigration = {
  name: "storage-1-hosts",
  sql: `CREATE TABLE hosts (
    host_id TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    place TEXT NOT NULL,
    started TEXT NOT NULL,
    heartbeat INTEGER NOT NULL
  ) STRICT`,
};

/** A host in another boot or pid namespace, whose processes are invisible here, counts as dead without a heartbeat for this long (ms). */
const remoteHeartbeatTimeout = 60_000;
/** Without process start times, a live pid counts as reused without a heartbeat for this long (ms). Long, because a suspended machine sends none. */
const pidHeartbeatTimeout = 180_000;
const heartbeatEvery = 10_000;
/** How long (ms) a transaction waits, which blocks the event loop. It covers the commit of another window on a slow disk. */
export const busyTimeout = 2_000;

interface HostRow {
  host_id: string;
  pid: number;
  place: string;
  started: string;
  heartbeat: number;
}

/** Boot id and pid namespace on Linux: within one place, a pid and its start time identify a process uniquely. */
function currentPlace(): string {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return process.platform;
  }
}

/** Start time of a process in clock ticks since boot; empty where the system does not provide it, null when there is no such process. */
function startOf(pid: number): string | null {
  if (process.platform === "linux") {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      // The command name may hold spaces and parentheses: fields are counted after its last one. State is 3, start time is 22.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return fields[0] === "Z" || fields[0] === "X" ? null : (fields[19] ?? "");
    } catch {
      return null;
    }
  }
  try {
    process.kill(pid, 0);
    return "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "" : null;
  }
}

export interface Hosts {
  readonly hostId: string;
  alive(hostId: string): boolean;
  unregister(): void;
}

/** Registers this process as a host of the data folder, and deletes the rows of dead hosts. */
export function registerHost(db: Database.Database, now: () => number = Date.now): Hosts {
  const place = currentPlace();
  const hostId = `host_${randomUUID()}`;
  const find = db.prepare<[string], HostRow>("SELECT * FROM hosts WHERE host_id = ?");
  const beat = db.prepare("UPDATE hosts SET heartbeat = ? WHERE host_id = ?");
  const remove = db.prepare("DELETE FROM hosts WHERE host_id = ?");

  const isAlive = (row: HostRow): boolean => {
    const sinceHeartbeat = now() - row.heartbeat;
    if (row.place !== place) return sinceHeartbeat < remoteHeartbeatTimeout;
    const started = startOf(row.pid);
    if (started === null) return false;
    return started === "" ? row.pid === process.pid || sinceHeartbeat < pidHeartbeatTimeout : started === row.started;
  };

  db.transaction(() => {
    for (const row of db.prepare<[], HostRow>("SELECT * FROM hosts").all()) if (!isAlive(row)) remove.run(row.host_id);
    db.prepare("INSERT INTO hosts (host_id, pid, place, started, heartbeat) VALUES (?, ?, ?, ?, ?)").run(
      hostId,
      process.pid,
      place,
      startOf(process.pid) ?? "",
      now(),
    );
  }).immediate();

  const timer = setInterval(() => {
    try {
      // A timer that waits for a lock would block the host.
      db.pragma("busy_timeout = 0");
      if (!db.inTransaction) beat.run(now(), hostId);
    } catch {
      // The database is locked or the disk is full. Several heartbeats may fail before this host counts as dead.
    } finally {
      db.pragma(`busy_timeout = ${busyTimeout}`);
    }
  }, heartbeatEvery);
  timer.unref();

  return {
    hostId,
    alive: (id) => {
      const row = find.get(id);
      return row !== undefined && isAlive(row);
    },
    unregister: () => {
      clearInterval(timer);
      remove.run(hostId);
    },
  };
}
