import { describe, expect, it } from "vitest";
import { describeEnvironment, type EnvironmentFacts } from "../../../agent-server/context/environment.ts";

const facts: EnvironmentFacts = {
  platform: "linux x64",
  shell: "zsh",
  timeZone: "Europe/Vienna",
  now: new Date("2026-03-01T23:30:00Z"),
  commands: { place: "container", containment: "transactional", programs: ["nodejs", "python3"] },
  network: "off",
};

describe("the environment in the prompt", () => {
  it("names machine, shell, day in the time zone, and containment", () => {
    const text = describeEnvironment(facts);
    for (const part of ["linux x64", "zsh", "2026-03-02", "Europe/Vienna", "container", "nodejs, python3"]) expect(text).toContain(part);
  });

  it("is the same all day, and short", () => {
    const later = { ...facts, now: new Date("2026-03-02T22:59:00Z") };
    expect(describeEnvironment(later)).toBe(describeEnvironment(facts));
    expect(describeEnvironment({ ...facts, now: new Date("2026-03-02T23:01:00Z") })).not.toBe(describeEnvironment(facts));
    expect(describeEnvironment(facts).length).toBeLessThan(600);
  });

  it("claims nothing about commands before they were checked", () => {
    const text = describeEnvironment({ ...facts, shell: null, commands: null });
    expect(text.split("\n")).toHaveLength(describeEnvironment(facts).split("\n").length - 2);
    expect(text).not.toContain("zsh");
  });

  it("names programs only where they are known", () => {
    const known = { place: "os_sandbox" as const, containment: undefined, programs: ["rustup"] };
    const text = describeEnvironment({ ...facts, commands: known });
    const without = describeEnvironment({ ...facts, commands: { ...known, programs: [] } });
    expect(text).toContain("rustup");
    expect(text.split("\n")).toHaveLength(without.split("\n").length + 1);
  });

  it("differs with the network and with each place and level", () => {
    const texts = [
      facts,
      { ...facts, network: "allowlist" as const },
      ...(["os_sandbox", "host"] as const).map((place) => ({ ...facts, commands: { place, containment: undefined, programs: [] } })),
      ...(["copied", "watched", "host"] as const).map((containment) => ({
        ...facts,
        commands: { place: "container" as const, containment, programs: [] },
      })),
    ].map(describeEnvironment);
    expect(new Set(texts).size).toBe(texts.length);
  });
});
