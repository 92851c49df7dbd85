import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseRedaction } from "../../../../agent-server/security/pii/redaction-settings.ts";
import { createPiiDetector, type ConfigurablePiiDetector } from "../../../../agent-server/security/security.ts";

const configDir = join(import.meta.dirname, "../../../../config");
let dataDir: string;
let detector: ConfigurablePiiDetector;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-redaction-"));
  mkdirSync(join(dataDir, "config"));
  detector = createPiiDetector({ configDir, dataDir });
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

let writes = 0;
/** Every text has a length of its own, so that two within one tick of the clock differ. */
const write = (text: string): void => writeFileSync(join(dataDir, "config/redaction.yaml"), `${text}\n${"#".repeat((writes += 1))}\n`);
const found = (text: string): string[] =>
  detector.find(text).map(({ start, end, kind, name }) => `${name ?? kind}:${text.slice(start, end)}`);
const text = "press@acme.org, jane@mail.acme.org, jane@siemens.com, Tel. +49 30 2093701, host 10.1.2.3, KD-123456, Frau Kupfer";

describe("config/redaction.yaml", () => {
  it("as shipped allows nothing and looks for everything", () => {
    expect(detector.problem()).toBeNull();
    expect(found(text)).toEqual([
      "email:press@acme.org",
      "email:jane@mail.acme.org",
      "email:jane@siemens.com",
      "phone:+49 30 2093701",
      "person:Kupfer",
    ]);
  });

  it("of the owner is laid over it, and read again when it is saved", () => {
    expect(found(text)).toHaveLength(5);
    write("allow: { values: [PRESS@acme.org, '+49302093701'], domains: [mail.acme.org] }");
    expect(found(text)).toEqual(["email:jane@siemens.com", "person:Kupfer"]);
    write("allow: { domains: [acme.org], patterns: ['jane@[a-z]{3,20}\\.com'] }\nkinds: { person: false, phone: false }");
    expect(found(text)).toEqual([]);
    write("private_addresses: true\npatterns: [{ name: customer_number, pattern: '\\bKD-\\d{6}\\b' }]");
    expect(found(text)).toEqual(
      expect.arrayContaining(["ip_address:10.1.2.3", "customer_number:KD-123456", "email:press@acme.org", "phone:+49 30 2093701"]),
    );
    rmSync(join(dataDir, "config/redaction.yaml"));
    expect(found(text)).toHaveLength(5);
  });

  it("a domain allows those below it and no other that ends alike", () => {
    write("allow: { domains: [acme.org] }");
    expect(found("a.b@acme.org a.b@x.acme.org a.b@notacme.org")).toEqual(["email:a.b@notacme.org"]);
  });

  it("says of a value why it may stay, also when somebody else found it", () => {
    write("allow: { values: [Ada Lovelace], domains: [acme.org], patterns: ['AC-\\d{5}'] }\nkinds: { plate: false }");
    expect(detector.exemption("ada  lovelace", "person")).toBe("value");
    expect(detector.exemption("x@acme.org", "email")).toBe("domain");
    expect(detector.exemption("AC-12345", "account")).toBe("pattern");
    expect(detector.exemption("AC-123456", "account")).toBeNull();
    expect(detector.exemption("B-MW 1234", "plate")).toBe("kind");
    expect(detector.exemption("Grace Hopper", "person")).toBeNull();
  });

  it("with a mistake exempts nothing, says where it is, and holds again when corrected", () => {
    write("allow: { domains: [acme.org] }");
    expect(found(text)).toHaveLength(3);
    write("version: 1\nallow:\n  domains:\n    - acme.org\n    - 'not a domain'");
    expect(found(text)).toHaveLength(5);
    expect(detector.problem()).toMatch(
      /^config\/redaction\.yaml in the data folder, line 5: allow\.domains\.1 must be a domain such as example\.org\. Until you correct it, nothing is exempt/,
    );
    write("allow: { domains: [acme.org] }");
    expect(detector.problem()).toBeNull();
    expect(found(text)).toHaveLength(3);
  });

  it.each([
    ["kinds:\n  emial: false", "line 2: kinds has no setting emial; remove it or correct its name"],
    ["version: 1\nkinds:\n  email: maybe", "line 3: kinds.email must be boolean"],
    ["version: 1\nalow: {}", "line 2: the file has no setting alow; remove it or correct its name"],
    ["version: 2", "line 1: version must be 1"],
    ["allow: [x", "line 1: not YAML"],
    [
      "allow:\n  patterns:\n    - a{1,3}\n    - (a+)+b",
      "line 4: the pattern (a+)+b has an unbounded repetition (+); set a maximum, such as {1,40}",
    ],
    ["patterns:\n  - name: Customer Number\n    pattern: x", "line 2: patterns.0.name must be small letters"],
    ["patterns:\n  - name: x\n    pattern: '['", "line 3: the pattern [ is not a regular expression"],
    ["- a\n- b", "line 1: the file must be keys"],
  ])("%j is named: %s", (yaml, problem) => {
    const read = parseRedaction(yaml);
    expect("problem" in read ? read.problem : "").toContain(problem);
  });

  it("may be empty, or hold keys without a value", () => {
    for (const yaml of ["", "# nothing yet", "allow:\nkinds:\npatterns:"]) expect("settings" in parseRedaction(yaml)).toBe(true);
  });
});
