/** Runs work for the same key one at a time, in the order of the requests. */
export interface PathLocks {
  hold<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>;
}

export function createPathLocks(): PathLocks {
  const tails = new Map<string, Promise<unknown>>();

  async function holdOne<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = tails.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    const tail = mine.catch(() => undefined);
    tails.set(key, tail);
    try {
      return await mine;
    } finally {
      if (tails.get(key) === tail) tails.delete(key);
    }
  }

  async function holdAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const [first, ...rest] = keys;
    return first === undefined ? work() : holdOne(first, () => holdAll(rest, work));
  }

  // All callers lock in the same order, so that two callers with the same keys cannot deadlock.
  return { hold: (keys, work) => holdAll([...new Set(keys)].sort(), work) };
}
