/** Whether this is `npm run soak`, where every test does all the runs it has. */
export const soak = process.env["LANCELOT_SOAK"] === "1";

/** How often a test repeats itself: `usual` times when it decides whether a change lands, `full` times in `npm run soak`. */
export const runs = (usual: number, full: number): number => (soak ? full : usual);

/** The seed of this run's random cases; undefined for new ones each time. CI tries the same cases each time, so that a failure is the change's. */
export const seed: number | undefined =
  process.env["LANCELOT_SEED"] !== undefined ? Number(process.env["LANCELOT_SEED"]) : process.env["CI"] === "true" ? 20_261_120 : undefined;
