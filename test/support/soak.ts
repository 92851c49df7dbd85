import { it, onTestFailed } from "vitest";

/** Whether this is `npm run soak`, where every test does all the runs it has. */
export const soak = process.env["LANCELOT_SOAK"] === "1";

/** How often a test repeats itself: `usual` times when it decides whether a change lands, `full` times in `npm run soak`. */
export const runs = (usual: number, full: number): number => (soak ? full : usual);

/** A test that only `npm run soak` has: what others prove on a smaller model or a shorter run, in full. */
export const itInSoak: (name: string, test: () => Promise<void>) => void = soak ? it : () => undefined;

/** The seed of this run's random cases; undefined for new ones each time. CI tries the same cases each time, so that a failure is the change's. */
export const seed: number | undefined =
  process.env["LANCELOT_SEED"] !== undefined ? Number(process.env["LANCELOT_SEED"]) : process.env["CI"] === "true" ? 20_261_120 : undefined;

/**
 * The cases of a long list that goes through the same code: all in `npm run soak`, otherwise the first `each` of every class. A case has a
 * class by each of `classesOf`, and is included when one of its classes still needs it.
 */
export function sample<T>(rows: readonly T[], classesOf: readonly ((row: T) => string)[], each = 2): T[] {
  if (soak) return [...rows];
  const included = new Map<string, number>();
  return rows.filter((row) => {
    const classes = classesOf.map((classOf, index) => `${index} ${classOf(row)}`);
    if (!classes.some((name) => (included.get(name) ?? 0) < each)) return false;
    for (const name of classes) included.set(name, (included.get(name) ?? 0) + 1);
    return true;
  });
}

/**
 * `count` random moments between 0 and 1, one in each of as many equal parts, so that few kills still fall before, during and after the
 * work. They come in random order from the seed, which a failing test prints.
 * @param series another number gives other moments of the same seed
 */
export function moments(count: number, series = 0): number[] {
  const used = (seed ?? Date.now()) % 2_147_483_647;
  let state = (used + series) % 2_147_483_647 || 1;
  onTestFailed(() => {
    process.stderr.write(`The moments of this test come from LANCELOT_SEED=${used}.\n`);
  });
  const random = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  // The first numbers of a small seed are small themselves.
  for (let skipped = 0; skipped < 8; skipped += 1) random();
  const spread = Array.from({ length: count }, (_, part) => ({ moment: (part + random()) / count, order: random() }));
  return spread.toSorted((a, b) => a.order - b.order).map(({ moment }) => moment);
}
