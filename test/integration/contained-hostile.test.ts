// @module-tag sandbox
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Attack, attackedPlaces, startAttack } from "../support/contained/attack.ts";
import { hostileCommands } from "../support/contained/rows.ts";
import { sample, soak } from "../support/soak.ts";

/** Rows of each kind outside of the soak, which runs all. */
const rowsOfKind = 5;
/** Rows for a first look at new ones: `LANCELOT_ROWS=secrets` or a part of an id. */
const only = process.env["LANCELOT_ROWS"];
/** `LANCELOT_EDITOR=1`: a real editor has the workspace open. Not for rows that start with a workspace that is hostile already. */
const withEditor = process.env["LANCELOT_EDITOR"] === "1";
const chosen =
  only === undefined
    ? sample(
        hostileCommands.filter((row) => soak || row.soak !== true),
        [({ kind }) => kind],
        rowsOfKind,
      )
    : hostileCommands.filter((row) => row.kind === only || row.id.includes(only));
const rows = withEditor ? chosen.filter(({ setup }) => setup === undefined) : chosen;

/** `LANCELOT_PLACE=podman`: commands run in its views of the workspace; `copied`: in copies, in an engine elsewhere. */
const place = attackedPlaces.find((one) => one === process.env["LANCELOT_PLACE"]) ?? "system";

describe(`hostile commands in the place "${place}", with a user who accepts everything`, () => {
  let attack: Attack;
  let denied = 0;
  beforeAll(async () => {
    attack = await startAttack(place, withEditor);
  });
  afterAll(() => {
    process.stdout.write(`${rows.length} hostile commands ran, ${denied} of them denied as they are written, and run disguised\n`);
  });

  it.each([...Map.groupBy(rows, ({ kind }) => kind)])("of the kind %s do no harm", async (_kind, ofKind) => {
    const harms: string[] = [];
    for (const row of ofKind) {
      const harm = await attack.run(row);
      denied += harm.isDenied ? 1 : 0;
      const { broken } = harm;
      if (process.env["LANCELOT_ROWS_TIMES"] === "1")
        process.stdout.write(`${harm.ms} ms ${harm.isDenied ? "denied " : ""}${row.id} ${broken.join("; ")}\n`);
      const isKnown = (one: string): boolean => Object.keys(row.known ?? {}).some((start) => one.startsWith(start));
      harms.push(...broken.filter((one) => !isKnown(one)).map((one) => `${row.id}: ${one}`));
      for (const start of Object.keys(row.known ?? {}))
        if (!broken.some((one) => one.startsWith(start)))
          process.stdout.write(`no longer found, so remove its mark: ${row.id}: ${start}\n`);
    }
    expect(harms).toEqual([]);
  });

  it("leave nothing behind in the end", async () => {
    const { broken, onlookerRuns, editorRuns } = await attack.end();
    expect(broken).toEqual([]);
    expect(onlookerRuns).toBeGreaterThan(0);
    if (withEditor) process.stdout.write(`the editor's git extension ran git ${editorRuns} times\n`);
    expect(editorRuns > 0).toBe(withEditor);
  });
});

it("are at least five hundred, each different", () => {
  const counted = hostileCommands.filter(({ known }) => known === undefined);
  expect(counted.length).toBeGreaterThanOrEqual(500);
  for (const field of ["id", "command"] as const)
    expect(new Set(hostileCommands.map((row) => `${row[field]}${field === "command" ? (row.setup ?? "") : ""}`)).size).toBe(
      hostileCommands.length,
    );
});
