import { describe, expect, it } from "vitest";
import type { Containment } from "../../../agent-server/contract/providers.ts";
import type { ShellProvider } from "../../../agent-server/sandbox/sandbox.ts";
import { createProviders, type ProvidersDeps } from "../../../agent-server/tools/routing/providers.ts";

const never = (): never => {
  throw new Error("Not expected.");
};

function place(id: string, containment: Containment): ShellProvider {
  return {
    ...{ id, title: id, place: id === "container" ? "container" : "os_sandbox", containment: () => containment },
    ...{ version: () => null, probe: never, run: never, close: () => Promise.resolve() },
  };
}

/** The shells in the order of their priority, at these levels. */
function shells(container: Containment, system: Containment, isRemote = true) {
  const deps: Pick<ProvidersDeps, "shells" | "remoteEngine" | "more" | "workspace"> = {
    ...{ shells: [place("container", container), place("bubblewrap", system)], remoteEngine: () => isRemote, more: [], workspace: null },
  };
  return createProviders({ ...deps, files: {} as ProvidersDeps["files"], search: never })
    .filter(({ containment }) => containment !== undefined)
    .toSorted((a, b) => a.priority - b.priority);
}

describe("sandboxes for commands", () => {
  it.each<[Containment, Containment, string]>([
    ["transactional", "transactional", "container"],
    ["copied", "transactional", "bubblewrap"],
    ["copied", "watched", "container"],
    ["watched", "transactional", "container"],
  ])("with an engine at the level %s and this system's at %s start with %s's", (container, system, first) => {
    expect(shells(container, system).map(({ id }) => id)[0]).toBe(first);
  });

  it.each<[Containment, boolean, boolean]>([
    ["copied", true, true],
    ["copied", false, false],
    ["transactional", false, false],
  ])("at the level %s of an engine that is elsewhere (%s) exclude commands with network access: %s", (level, isRemote, isExcluded) => {
    const container = shells(level, "watched", isRemote).find(({ id }) => id === "container");
    const why = (network: boolean): boolean => container?.unsuited?.({ network, unattended: false }) !== null;
    expect([why(true), why(false)]).toEqual([isExcluded, false]);
  });
});
