import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createNetworkPolicy, type NetworkPolicy } from "../../../../agent-server/governance/policy/network-policy.ts";
import { createRedactor } from "../../../../agent-server/security/security.ts";

const shipped = "version: 1\nallow: [listed.example, '*.docs.example', '10.0.0.11', intranet.corp]\ndeny: []\n";
let base: string;
let on: boolean;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "lancelot-network-"));
  mkdirSync(join(base, "shipped"));
  mkdirSync(join(base, "data/config"), { recursive: true });
  writeFileSync(join(base, "shipped/network.yaml"), shipped);
  on = true;
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function policy(own?: string): NetworkPolicy {
  if (own !== undefined) writeFileSync(join(base, "data/config/network.yaml"), own);
  return createNetworkPolicy({
    configDir: join(base, "shipped"),
    dataDir: join(base, "data"),
    enabled: () => on,
    redactor: createRedactor(),
  });
}

const sentence = /^\S.{8,}\.$/s;
const token = `ghp_${"a1B2".repeat(9)}`;

describe("an address", () => {
  it.each([
    ["https://listed.example/", "network.listed", "listed.example"],
    ["https://LISTED.example/a?b=c#d", "network.listed", "listed.example"],
    ["https://listed.example./", "network.listed", "listed.example"],
    ["https://listed.example:443/", "network.listed", "listed.example"],
    ["https://a.docs.example/", "network.listed", "a.docs.example"],
    ["https://a.b.docs.example/", "network.listed", "a.b.docs.example"],
    ["https://docs.example/", "network.host-not-listed", "docs.example"],
    ["https://mydocs.example/", "network.host-not-listed", "mydocs.example"],
    ["https://a.listed.example/", "network.host-not-listed", "a.listed.example"],
    ["https://listed.example.evil.test/", "network.host-not-listed", "listed.example.evil.test"],
    ["https://elsewhere.example/", "network.host-not-listed", "elsewhere.example"],
    ["https://8.8.8.8/", "network.host-not-listed", "8.8.8.8"],
    ["https://listed.example/%E4%", "network.listed", "listed.example"],
    [`https://listed.example/${"x".repeat(8192 - 23)}`, "network.listed", "listed.example"],
    [`https://listed.example/${"x".repeat(8192 - 22)}`, "network.address", ""],
    ["https://listed.example/a b", "network.address", ""],
    [" https://listed.example/", "network.address", ""],
    ["https://listed.example/\n", "network.address", ""],
    ["https://listed.example/\u007f", "network.address", ""],
    ["https:\\\\listed.example/", "network.address", ""],
    ["https://", "network.address", ""],
    ["listed.example", "network.address", ""],
    ["", "network.address", ""],
    ["http://listed.example/", "network.scheme", "listed.example"],
    ["file:///etc/passwd", "network.scheme", ""],
    ["https://user@listed.example/", "network.credentials", "listed.example"],
    ["https://:word@listed.example/", "network.credentials", "listed.example"],
    ["https://localhost/", "network.private", "localhost"],
    ["https://127.0.0.1/", "network.private", "127.0.0.1"],
    ["https://0x7f.1/", "network.private", "127.0.0.1"],
    ["https://2130706433/", "network.private", "127.0.0.1"],
    ["https://10.0.0.11/", "network.private", "10.0.0.11"],
    ["https://169.254.169.254/latest", "network.private", "169.254.169.254"],
    ["https://[::1]/", "network.private", "[::1]"],
    ["https://[fd00::1]/", "network.private", "[fd00::1]"],
    ["https://intranet.corp/", "network.private", "intranet.corp"],
    ["https://a.home.arpa/", "network.private", "a.home.arpa"],
    ["https://metadata.google.internal/", "network.private", "metadata.google.internal"],
    ["https://printer.local/", "network.private", "printer.local"],
    ["https://mylocal.example/", "network.host-not-listed", "mylocal.example"],
    ["https://a.notlocal/", "network.host-not-listed", "a.notlocal"],
    ["https://local.example/", "network.host-not-listed", "local.example"],
    ["https://[2606:4700::1111]/", "network.host-not-listed", "[2606:4700::1111]"],
    ["https://wiki/", "network.private", "wiki"],
    ["https://listed.example:8443/", "network.port", "listed.example"],
    [`https://listed.example/?key=${token}`, "network.secret", "listed.example"],
    [`https://listed.example/?key=%67hp_${"a1B2".repeat(9)}`, "network.secret", "listed.example"],
  ])("%s: %s", (url, rule, host) => {
    const judged = policy().judge(url, "read");
    expect([judged.rule.id, judged.host]).toEqual([rule, host]);
    expect(judged.verdict).toBe(rule === "network.listed" ? "allow" : "deny");
    expect(judged.rule.source).toBe("policy");
    expect(judged.rule.message).toMatch(sentence);
    expect(judged.alternatives.length > 0).toBe(judged.verdict === "deny");
    for (const alternative of judged.alternatives) expect(alternative).toMatch(sentence);
    if (judged.verdict === "deny") expect(judged.alternatives.at(-1)).toContain("Ask the owner");
  });

  it("that is not listed can be added by the owner, and it says how", () => {
    const { rule, alternatives } = policy().judge("https://elsewhere.example/", "read");
    expect(rule.message).toMatch(/elsewhere\.example .*config\/network\.yaml/);
    expect(alternatives).toContain("Ask the owner to add elsewhere.example.");
  });

  it("that is listed may be read, and is only named where something is sent to it", () => {
    const { judge } = policy();
    const messages = (["read", "write"] as const).map((use) => judge("https://listed.example/", use).rule.message);
    expect(new Set(messages).size).toBe(2);
  });

  it("of any kind is refused while the network is off, at the very next look", () => {
    const { judge } = policy();
    on = false;
    const { verdict, rule, host, alternatives } = judge("https://listed.example/", "read");
    expect({ verdict, id: rule.id, host }).toEqual({ verdict: "deny", id: "network.off", host: "" });
    expect(rule.message).toMatch(/TOOLS_NETWORK/);
    expect(alternatives[0]).toMatch(sentence);
    on = true;
    expect(judge("https://listed.example/", "read").verdict).toBe("allow");
  });
});

describe("the owner's table", () => {
  it("is added to the shipped one, and a refusal in it wins", () => {
    const { judge, problem } = policy("version: 1\nallow: [own.example]\ndeny: [listed.example, '*.own.example']\n");
    expect(problem).toBeNull();
    expect(judge("https://own.example/", "read").verdict).toBe("allow");
    expect(judge("https://a.docs.example/", "read").verdict).toBe("allow");
    for (const host of ["listed.example", "a.own.example"]) {
      const { rule } = judge(`https://${host}/`, "read");
      expect(rule).toEqual({ id: "network.denied-host", source: "policy", message: expect.stringContaining(host) as string });
    }
  });

  it("may leave a list out, or be missing", () => {
    expect(policy().problem).toBeNull();
    const { judge, problem } = policy("version: 1\n");
    expect(problem).toBeNull();
    expect(judge("https://listed.example/", "read").verdict).toBe("allow");
  });

  it("changes the version, with every byte of it", () => {
    const sha = (text: string) => createHash("sha256").update(text).digest("hex");
    expect(policy().version).toBe(sha(shipped));
    expect(policy("version: 1\n").version).toBe(sha(`${shipped}version: 1\n`));
  });

  it.each([
    ["no YAML", "allow: [", /config\/network\.yaml in the data folder, line \d/],
    ["another version", "version: 2\n", /version/],
    ["a field nobody knows", "version: 1\nalow: []\n", /alow/],
    ["an address for a host", "version: 1\nallow: ['https://x.example']\n", /Write a host such as example\.org/],
    ["every host", "version: 1\nallow: ['*']\n", /Write a host/],
    ["a whole ending", "version: 1\nallow: ['*.com']\n", /Write a host/],
    ["an anchor", "version: 1\nallow: &a [x.example]\ndeny: *a\n", /config\/network\.yaml/],
    ["a star in the middle", "version: 1\nallow: ['a.*.example']\n", /Write a host/],
    ["a label with a dash at its end", "version: 1\nallow: ['a-.example']\n", /Write a host/],
  ])("with %s refuses every host", (_name, own, expectedText) => {
    const { judge, problem } = policy(own);
    expect(problem).toMatch(expectedText);
    const { verdict, rule, host } = judge("https://listed.example/", "read");
    expect({ verdict, host, rule }).toEqual({
      verdict: "deny",
      host: "",
      rule: { id: "network.table-failed", source: "policy", message: problem },
    });
  });

  it("cannot stand in for a shipped one that is missing", () => {
    rmSync(join(base, "shipped/network.yaml"));
    const { judge, problem } = policy("version: 1\nallow: [listed.example]\n");
    expect(problem).toMatch(/\(config\/network\.yaml\)/);
    expect(judge("https://listed.example/", "read").verdict).toBe("deny");
  });
});
