import * as z from "zod";
import { openCompilerFixture, workspace } from "../compiler-fixture.ts";
import { objectives, remembered, shuffled } from "../remembered.ts";

/**
 * One process of the determinism test: fills a data folder, compiles, or writes to another workspace, as its argument says. Prints what
 * it compiled and how the process sees the world.
 */
const Options = z.object({
  dataDir: z.string(),
  /** Items to store before anything is compiled, in the order of the seed. */
  fill: z.object({ items: z.int(), seed: z.string() }).optional(),
  /** Compiles every objective so often. */
  compile: z.int().default(0),
  /** Writes so many items to another workspace, one transaction each. */
  disturb: z.int().default(0),
  now: z.number(),
});

const soul = { text: "Your constitution (soul v7).\nMission: Keep the harbour of İstanbul running.", version: "v7" };

const options = Options.parse(JSON.parse(process.argv[2] ?? "{}"));
const fixture = openCompilerFixture({ dataDir: options.dataDir, now: () => options.now, soul });
if (options.fill !== undefined) fixture.put(shuffled(remembered(options.fill.items, options.fill.seed), options.fill.seed));
for (const item of remembered(options.disturb, `other ${String(process.pid)}`, `${workspace}-other`)) fixture.put([item]);

const texts: string[] = [];
for (let round = 0; round < options.compile; round += 1) {
  for (const objective of objectives) {
    for (const mode of ["normal", "crusader"] as const) {
      for (const chat of [undefined, { marker: "0123456789abcdef", small: false }, { marker: "0123456789abcdef", small: true }]) {
        texts.push(fixture.compile({ objective, mode, chat, questId: "q1" }).renderedPrompt);
      }
    }
  }
}
fixture.close();

const { locale, timeZone } = new Intl.DateTimeFormat().resolvedOptions();
process.stdout.write(
  JSON.stringify({ texts, locale, timeZone, sorted: ["z", "ä", "i", "I", "ı", "İ"].toSorted((a, b) => a.localeCompare(b)).join("") }),
);
