import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import type Database from "better-sqlite3";

/** Own table of this room, made before those of the other rooms. */
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

/** A process of a place whose process table we cannot see counts as dead after this silence (ms). */
const silenceElsewhere = 60_000;
/** Where the start time of a process is not to be had, a live pid counts as reused after this silence (ms): long, because a suspended machine is silent too. */
const silenceOfPid = 180_000;
const heartbeatEvery = 10_000;

interface HostRow {
  host_id: string;
  pid: number;
  place: string;
  started: string;
  heartbeat: number;
}

/** Boot and pid namespace on Linux: within one place a pid and its start time name one process for good. */
function currentPlace(): string {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return process.platform;
  }
}

/** Start time of a process in clock ticks since boot; empty where the system does not tell, null when there is no such process. */
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
  leave(): void;
}

/** Registers this process as a host of the data folder, and forgets hosts that are gone. */
export function registerHost(db: Database.Database, now: () => number = Date.now): Hosts {
  const place = currentPlace();
  const hostId = `host_${randomUUID()}`;
  const find = db.prepare<[string], HostRow>("SELECT * FROM hosts WHERE host_id = ?");
  const beat = db.prepare("UPDATE hosts SET heartbeat = ? WHERE host_id = ?");
  const remove = db.prepare("DELETE FROM hosts WHERE host_id = ?");

  const isAlive = (row: HostRow): boolean => {
    const silence = now() - row.heartbeat;
    if (row.place !== place) return silence < silenceElsewhere;
    const started = startOf(row.pid);
    if (started === null) return false;
    return started === "" ? row.pid === process.pid || silence < silenceOfPid : started === row.started;
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
      if (!db.inTransaction) beat.run(now(), hostId);
    } catch {
      // A locked or full disk: the next beat tries again, and several may fail before this host counts as silent.
    }
  }, heartbeatEvery);
  timer.unref();

  return {
    hostId,
    alive: (id) => {
      const row = find.get(id);
      return row !== undefined && isAlive(row);
    },
    leave: () => {
      clearInterval(timer);
      remove.run(hostId);
    },
  };
}
