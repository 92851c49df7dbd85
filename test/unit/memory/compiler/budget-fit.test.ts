import * as fc from "fast-check";
import { expect, it } from "vitest";
import { fit } from "../../../../agent-server/memory/compiler/budget-fit.ts";

const units = fc.array(fc.record({ id: fc.nat(), size: fc.integer({ min: 1, max: 40 }) }), { maxLength: 30 });
const sum = (some: readonly { size: number }[]): number => some.reduce((total, { size }) => total + size, 0);

it("keeps the longest start that fits, and each unit is in or out", () => {
  fc.assert(
    fc.property(units, fc.integer({ min: 0, max: 200 }), (all, max) => {
      const { kept, excludedUnits } = fit(all, max, sum);
      expect(sum(kept)).toBeLessThanOrEqual(max);
      expect([...kept, ...excludedUnits.map(({ unit }) => unit)].toSorted((a, b) => all.indexOf(a) - all.indexOf(b))).toEqual(all);
      // What could not fit even alone is told apart, and it alone may leave before something that is kept after it.
      for (const { unit, tooLong } of excludedUnits) {
        expect(tooLong).toBe(unit.size > max);
        if (!tooLong) for (const other of kept) expect(all.indexOf(other)).toBeLessThan(all.indexOf(unit));
      }
      const next = excludedUnits.find(({ tooLong }) => !tooLong)?.unit;
      if (next !== undefined) expect(sum(kept) + next.size).toBeGreaterThan(max);
    }),
  );
});

it("keeps all that fits without measuring more than once", () => {
  let measured = 0;
  const { kept } = fit([1, 2, 3], 6, (some) => {
    measured += 1;
    return some.reduce((total, size) => total + size, 0);
  });
  expect(kept).toEqual([1, 2, 3]);
  expect(measured).toBe(1);
});
