import { describe, expect, it } from "vitest";
import { visibleText } from "../../../../agent-server/contract/visible-text.ts";
import { commandDetail, seconds } from "../../../../agent-server/tools/command/command-question.ts";

describe("a command in the approval question", () => {
  it.each([
    ["unchanged", "npm test -- --run 'a b'", "npm test -- --run 'a b'"],
    ["with its lines and tabs", "cat <<E\n\ttext\nE", "cat <<E\n\ttext\nE"],
    ["with a carriage return that would hide the beginning", "rm -rf x\rls   ", "rm -rf x⟨U+000D⟩ls   "],
    ["with direction characters that would reverse it", "echo \u202egnp.sh", "echo ⟨U+202E⟩gnp.sh"],
    ["with zero-width characters", "cu\u200brl x", "cu⟨U+200B⟩rl x"],
    ["with escape sequences", "echo \u001b[2K", "echo ⟨U+001B⟩[2K"],
    ["with invisible blanks", "a\u3164b", "a⟨U+3164⟩b"],
    ["with tags", "a\u{e0041}", "a⟨U+E0041⟩"],
  ])("is shown %s", (_how, command, shown) => {
    expect(visibleText(command)).toBe(shown);
  });

  it("says where it runs, on what network and how long", () => {
    const of = { command: "npm test", cwd: ".", place: "container", containment: "watched", network: null, timeoutMs: 600_000 } as const;
    const [command, blank, folder, place, network, timeout, ...rest] = commandDetail(of).split("\n");
    expect([command, blank, rest]).toEqual(["npm test", "", []]);
    expect([folder, place, network, timeout]).toEqual(
      ["workspace", "container", "none", "10 min"].map((part) => expect.stringContaining(part)),
    );
    const onHost = commandDetail({
      ...of,
      cwd: "packages/a",
      place: "host",
      containment: "host",
      network: { services: [], hosts: null },
      timeoutMs: 90_000,
    });
    for (const part of ["packages/a", "without a sandbox", "Network: not limited", "90 s"]) expect(onHost).toContain(part);
    expect(commandDetail({ ...of, place: "host", containment: "host" })).not.toContain("none");
    expect(commandDetail({ ...of, network: { services: [], hosts: null } })).toContain("config/network.yaml");
    const registry = { services: ["the npm registry"], hosts: ["registry.npmjs.org"] };
    expect(commandDetail({ ...of, network: registry })).toContain("the npm registry (registry.npmjs.org)");
    expect(commandDetail({ ...of, place: "os_sandbox" })).toContain("OS sandbox");
    expect(commandDetail({ ...of, place: "os_sandbox", containment: "transactional" })).toContain("copy-on-write");
  });

  it.each([
    [940, "0.9 s"],
    [1_000, "1 s"],
    [2_340, "2.3 s"],
    [59_600, "60 s"],
    [600_000, "10 min"],
  ])("%d ms are %s", (ms, message) => {
    expect(seconds(ms)).toBe(message);
  });
});
