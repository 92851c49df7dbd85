import { vi } from "vitest";

/** How long a test waits for what has to come about. It only ends tests that hang: a busy machine is slow, and that is no failure. */
const patienceMs = 60_000;

// Vitest gives `expect.poll` a setting for this and `vi.waitFor` none. Its own second is too short for a busy machine.
const patient = Symbol.for("lancelot.patient");
const { waitFor } = vi;
if (!(patient in waitFor))
  vi.waitFor = Object.assign(
    ((check, options) =>
      waitFor(check, { timeout: patienceMs, ...(typeof options === "number" ? { timeout: options } : options) })) as typeof waitFor,
    { [patient]: true },
  );
