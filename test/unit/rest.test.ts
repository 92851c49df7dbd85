import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createRest } from "../../agent-server/rest.ts";

/** Something that nobody holds any more, once the turn of the event loop is over. */
async function garbage(): Promise<WeakRef<object>> {
  const ref = new WeakRef({ large: "x".repeat(1_000) });
  await new Promise((resolve) => setImmediate(resolve));
  return ref;
}

describe("a host at rest", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => vi.useRealTimers());

  it("gives back what start left behind", async () => {
    const rest = createRest(() => false);
    const ref = await garbage();
    vi.advanceTimersByTime(60_000);
    expect(ref.deref()).toBeUndefined();
    rest.close();
  });

  it("waits while something runs, and after work", () => {
    const busy = vi.fn(() => true);
    const rest = createRest(busy);
    vi.advanceTimersByTime(59_000);
    expect(busy).not.toHaveBeenCalled();
    rest.worked();
    vi.advanceTimersByTime(59_000);
    expect(busy).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(busy).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(60_000);
    expect(busy).toHaveBeenCalledTimes(2);
    rest.close();
    vi.advanceTimersByTime(600_000);
    expect(busy).toHaveBeenCalledTimes(2);
  });
});
