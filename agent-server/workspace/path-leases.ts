import { setTimeout as wait } from "node:timers/promises";
import { LancelotError } from "../contract/errors.ts";
import { createLease, type Lease, type Storage } from "../storage/storage.ts";
import type { PathLocks } from "./path-locks.ts";

/** How long (ms) a lease lasts without renewal: longer than any pause of a live host between two renewals. */
const leaseMs = 30_000;
const renewEvery = 10_000;
/** How long (ms) between two looks at a lease that another window holds, and how many looks there are: a minute in all. */
const lookEvery = 50;
const maxLooks = 1_200;

export interface PathLeasesDeps {
  readonly storage: Storage;
  /** Serializes the work of this host. */
  readonly locks: PathLocks;
  readonly now: () => Date;
  /** Waits between two looks at a lease; tests look when they choose. */
  readonly pause?: () => Promise<void>;
}

/**
 * Runs work on the same paths one at a time in all windows of the data folder (requirement A9). Within this host the locks order the work;
 * between hosts a lease in the database does, which ends with its host.
 *
 * A lease orders work that is done in time. What a host writes after its lease expired is still checked against the content it has read.
 */
export function createPathLeases({ storage, locks, now, pause = () => wait(lookEvery) }: PathLeasesDeps): PathLocks {
  const leaseOf = (path: string): Lease => createLease({ storage, name: `path ${path}`, now: () => now().getTime() });

  async function take(lease: Lease): Promise<void> {
    for (let look = 0; look < maxLooks; look++) {
      if (lease.take(leaseMs)) return;
      await pause();
    }
    throw new LancelotError("conflict", "Another window is applying changes to the same file. Try again when it is done.");
  }

  async function holdLeased<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
    const held: Lease[] = [];
    try {
      for (const path of paths) {
        const lease = leaseOf(path);
        await take(lease);
        held.push(lease);
      }
      return await renewed(held, work);
    } finally {
      for (const lease of held) lease.release();
    }
  }

  return {
    hold(paths, work) {
      // All hosts take leases in the same order, so that two of them cannot wait for each other.
      const inOrder = [...new Set(paths)].sort();
      return locks.hold(inOrder, () => holdLeased(inOrder, work));
    },
  };
}

async function renewed<T>(leases: readonly Lease[], work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    try {
      for (const lease of leases) lease.take(leaseMs);
    } catch {
      // The database is locked; the next renewal comes before the lease expires.
    }
  }, renewEvery).unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
