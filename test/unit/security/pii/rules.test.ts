import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPiiDetector, createRedactor, type PiiKind } from "../../../../agent-server/security/security.ts";
import { runs } from "../../../support/soak.ts";

const detector = createPiiDetector(null);
await detector.ready();
/** What is found, as `kind:value`. */
const found = (text: string): string[] => detector.find(text).map(({ start, end, kind }) => `${kind}:${text.slice(start, end)}`);

const finds: readonly (readonly [string, ...string[]])[] = [
  // e-mail
  ["write to jane.doe+shop@siemens.com.", "email:jane.doe+shop@siemens.com"],
  ["GET /reset?email=jane.doe%40siemens.com&x=1", "email:jane.doe%40siemens.com"],
  ["jane.doe (at) siemens.com", "email:jane.doe (at) siemens.com"],
  ["Antworte an jürgen@müller-bau.de bitte", "email:jürgen@müller-bau.de"],
  ["See you.jane@siemens.com.Thanks", "email:you.jane@siemens.com"],
  ['"author": "Zbyněk Vondra <z.vondra@seznam.cz> (https://x.cz)"', "person:Zbyněk Vondra", "email:z.vondra@seznam.cz"],
  // phones
  ["+49 (0)30 2093 70100", "phone:+49 (0)30 2093 70100"],
  ["(415) 867-5309 is mine", "phone:(415) 867-5309"],
  ["Tel. 030 2093701 / 0171 1234567", "phone:030 2093701", "phone:0171 1234567"],
  ["06 12 34 56 78", "phone:06 12 34 56 78"],
  ["Móvil: 612 34 56 78", "phone:612 34 56 78"],
  ["Me liga no (11) 91234-5678", "phone:(11) 91234-5678"],
  // banks
  ["DE89 3704 0044 0532 0130 00 BIC COBADEFF", "iban:DE89 3704 0044 0532 0130 00"],
  ["GB29NWBK60161331926819", "iban:GB29NWBK60161331926819"],
  ["card 4111-1111-1111-1111, 11/27", "card:4111-1111-1111-1111"],
  ["3782 822463 10005", "card:3782 822463 10005"],
  ["routing number 021000021, account number 9072651834", "account:021000021", "account:9072651834"],
  ["Sort code: 20-45-77", "account:20-45-77"],
  // national numbers
  ["SSN 536-22-8726", "national_id:536-22-8726"],
  ["Steuer-ID: 86 095 742 719", "national_id:86 095 742 719"],
  ["NIR 2 55 08 14 168 025 38", "national_id:2 55 08 14 168 025 38"],
  ["DNI 12345678Z", "national_id:12345678Z"],
  ["codice fiscale RSSMRA85T10A562S", "national_id:RSSMRA85T10A562S"],
  ["529.982.247-25", "national_id:529.982.247-25"],
  ["Aadhaar 2341 2341 2346", "national_id:2341 2341 2346"],
  ["NINO AB 12 34 56 C", "national_id:AB 12 34 56 C"],
  ["Passport No: X1234567", "national_id:X1234567"],
  // networks
  ["sshd: Failed password from 84.112.33.91 port 52144", "ip_address:84.112.33.91"],
  ["2a02:8071:b692::17", "ip_address:2a02:8071:b692::17"],
  ["ether 3c:22:fb:91:0a:7e", "mac_address:3c:22:fb:91:0a:7e"],
  // addresses
  ["He lives at 1600 Pennsylvania Avenue NW, Washington, DC 20500.", "address:1600 Pennsylvania Avenue NW, Washington, DC 20500"],
  ["221B Baker Street, London NW1 6XE", "address:221B Baker Street, London NW1 6XE"],
  ["in der Hauptstraße 12a, 10115 Berlin", "address:Hauptstraße 12a, 10115 Berlin"],
  ["12 bis, rue de la Paix, 75002 Paris", "address:12 bis, rue de la Paix, 75002 Paris"],
  ["Calle Mayor 12, 3º B, 28013 Madrid", "address:Calle Mayor 12, 3º B, 28013 Madrid"],
  ["Via Roma 12, 00184 Roma (RM)", "address:Via Roma 12, 00184 Roma (RM)"],
  ["Rua das Flores, 12, 2º Esq., 1200-195 Lisboa", "address:Rua das Flores, 12, 2º Esq., 1200-195 Lisboa"],
  // names
  ["Herr Dr. Müller kommt", "person:Müller"],
  ["Dear Katarzyna,", "person:Katarzyna"],
  ["Cordialement,\nJean-Pierre Lefèvre", "person:Jean-Pierre Lefèvre"],
  ["Me llamo Lucía Fernández y tengo", "person:Lucía Fernández"],
  ["Cliente: Ludwig van Beethoven", "person:Ludwig van Beethoven"],
  ["firstName: 'Swati'", "person:Swati"],
  ["name,email\nZbyněk Vondra,z.v@seznam.cz", "person:Zbyněk Vondra", "email:z.v@seznam.cz"],
  ["| Name | Telefon |\n|---|---|\n| Anneliese Kupfer | 030 2093701 |", "person:Anneliese Kupfer", "phone:030 2093701"],
  // as people and systems write them
  ["My number's 415-867-5309, text anytime.", "phone:415-867-5309"],
  ["Handynr. 0151/23456789", "phone:0151/23456789"],
  ["mon tel c'est le 0612345678", "phone:0612345678"],
  ["contact: +1.415.867.5309", "phone:+1.415.867.5309"],
  ["RIB : 30004 00828 00012345678 76", "account:30004 00828 00012345678 76"],
  ["Agência 1234-5", "account:1234-5"],
  ["Führerschein-Nr. B072RRE2I55", "national_id:B072RRE2I55"],
  ["Patient: Müller, Anna; geb. 12.03.1985", "person:Müller, Anna", "birth_date:12.03.1985"],
  ["nata a Roma il 12/03/1985", "birth_date:12/03/1985"],
  ["VALUES ('Anna Schmidt', '030 2093701')", "person:Anna Schmidt"],
  ["<name>Anna Schmidt</name>", "person:Anna Schmidt"],
  ["[10:31] Khalil Krajcik: on my way", "person:Khalil Krajcik"],
  ["Khalil Krajcik mentioned the outage.", "person:Khalil Krajcik"],
  ["Flat 4, 22 Elm Grove, Bristol BS6 6DQ", "address:Flat 4, 22 Elm Grove, Bristol BS6 6DQ"],
  ["PO Box 1234, Springfield, IL 62701", "address:PO Box 1234, Springfield, IL 62701"],
  ["Postfach 10 20 30, 50667 Köln", "address:Postfach 10 20 30, 50667 Köln"],
  ["Piazza del Duomo, 20122 Milano", "address:Piazza del Duomo, 20122 Milano"],
  ["https://maps.example/@52.5200066,13.404954,15z", "coordinates:52.5200066,13.404954"],
  // others
  ["DOB: 03/12/1985", "birth_date:03/12/1985"],
  ["née le 3 mars 1985 à Lyon", "birth_date:3 mars 1985"],
  ["Kennzeichen: B-MW 1234", "plate:B-MW 1234"],
  ['"lat": 52.520008, "lng": 13.404954', "coordinates:52.520008", "coordinates:13.404954"],
  ["52°31'12.0\"N 13°24'18.0\"E", "coordinates:52°31'12.0\"N 13°24'18.0\"E"],
];

const leaves: readonly string[] = [
  "user@example.com, a@b.test, root@localhost, noreply@github.com",
  "git@github.com:acme/tools.git",
  "https://deploy@host.company.io:8443/x",
  "react@18.2.0 logo@2x.png W @ x; self.w@self.x",
  "(555) 010-1234, 555-0199, 07700 900123, 123-456-7890",
  "d41d8cd98f00b204e9800998ecf8427e 550e8400-e29b-41d4-a716-446655440000",
  "1.2.3 4.17.21 v1.2.3.4 10.0.19041.1 Chrome/120.0.6099.109",
  "127.0.0.1 0.0.0.0 10.0.0.7 192.168.1.1 203.0.113.9 2001:db8::1 8.8.8.8",
  "2024-03-01T10:20:30Z 1700000000000 03/12/1985",
  "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff 12:34:56",
  "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
  "const id = 1234567890123456; const max = 9007199254740991;",
  "ssn: 000-00-0000, card 4111 1111 1111 1112, DE89 3704 0044 0532 0130 01",
  "margin: 0 12px 24px 36px; color: rgba(12, 34, 56, 0.5)",
  "name: Build and Test\n- name: Install Dependencies",
  "firstName: String, lastName: z.string()",
  "Hello World, Dear customer, Best regards,\nThe Support Team",
  "position: 12.5, 13.25; lat: 0",
  "The European Union and United Nations met in New York.",
  "Apache Kafka wrote messages to disk. Visual Studio said hello. Spring Boot called the endpoint.",
  "Die Deutsche Bahn hat Verspätung. La Comisión Europea dijo que sí. Le Premier Ministre a dit non.",
  "San Francisco and Port Louis are towns; Code Review wants a test.",
  'cellHoverBackground: "#39355280", Decimal("+35236450.6"), c2aa639c-3ccc-4740-b3b6-ce2a1e1d9',
  "installed via PEP 658. Started via Docker 2 times.",
  "account created, 3 items; plate(4); born in 2014",
];

describe("what is found", () => {
  it.each(finds)("%s", (text, ...expected) => expect(found(text)).toEqual(expected));

  it.each(["'", '"', "`", "(", "[", "<td>", "\t", "=", ": ", ">"])("also behind %s", (sign) => {
    expect(found(`${sign}jane.doe@siemens.com`)).toEqual(["email:jane.doe@siemens.com"]);
    expect(found(`iban${sign}DE89370400440532013000`)).toEqual(["iban:DE89370400440532013000"]);
  });
});

describe("what is left alone", () => {
  it.each(leaves)("%s", (text) => expect(found(text)).toEqual([]));

  it("a number with a wrong check digit and no word before it", () => {
    for (const text of ["RSSMRA85T10A562T", "12345678A", "529.982.247-26", "2 55 08 14 168 025 39"])
      expect(found(`x ${text} y`)).toEqual([]);
  });
});

/** Pieces that begin, hold and end what the rules look for. */
const pieces = fc.constantFrom(
  ..."@.+-:/()[]{}\"'`,;|=<>\\\n\t °º".split(""),
  ...[
    "1",
    "23",
    "4567",
    "0049 171 ",
    "name",
    "Name: ",
    "Tel. ",
    "Herr ",
    "Maria ",
    "Schneider",
    "IBAN ",
    "DE89",
    "jane@siemens.com",
    "Straße 1",
    "12345 ",
    "rue de ",
    "born ",
    "1985-03-12",
    "lat",
    "52.52000",
    "ssn ",
    "Dear ",
    "é",
    "\u{1f600}",
    "\ud800",
    "\u0000",
  ],
);
const texts = fc.array(fc.oneof(pieces, fc.string({ unit: "binary", maxLength: 5 })), { maxLength: 60 }).map((parts) => parts.join(""));

describe("whatever the text", () => {
  it("matches come in order, apart, inside the text, and the same each time", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const matches = detector.find(text);
        let last = 0;
        for (const { start, end } of matches) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          last = end;
        }
        expect(detector.find(text)).toEqual(matches);
      }),
      { numRuns: runs(125, 500) },
    );
  });

  it("an address is found wherever it stands between other words", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("and", "x1", "{", "}", "the", "=>", "42", "\n", '"'), { maxLength: 12 }),
        fc.nat(),
        (args, place) => {
          const at = place % (args.length + 1);
          const text = [...args.slice(0, at), "jane.doe@siemens.com", ...args.slice(at)].join(" ");
          expect(found(text)).toContain("email:jane.doe@siemens.com");
        },
      ),
    );
  });

  // Each would take minutes with a rule that is worse than linear.
  it.each([
    "a",
    "1",
    " ",
    "@",
    '"',
    "A",
    ":",
    ".",
    "\n",
    "1 ",
    "a:",
    "Aa ",
    "+1",
    "1.",
    "tel ",
    "name: ",
    "((",
    '{"',
    "Rua de ",
    "a,b\n",
    "Maria ",
    "Mr. ",
    "Dr ",
    "Sig.ra ",
    "Dear Dr. ",
    "x@",
    "- ",
    "ë",
    "1 A Street ",
  ])("half a million characters of %j are looked at", (unit) => {
    expect(Array.isArray(detector.find(unit.repeat(500_000 / unit.length)))).toBe(true);
  });
});

describe("beside secrets", () => {
  const redactor = createRedactor();

  it("what is both is a secret: once it is replaced nothing personal is left", () => {
    for (const text of [
      '"password": "jane.doe1@siemens.com"',
      "postgres://jane:4111111111111111@db.siemens.com/x",
      "api_key=Jane.Doe+492093701aZ9x",
    ]) {
      const { text: safe, findings } = redactor.text(text);
      expect(findings).toHaveLength(1);
      expect(found(safe)).toEqual([]);
    }
  });

  it("no note of a replaced secret is taken for personal data", () => {
    const kinds: readonly (PiiKind | "secret")[] = ["secret", "email", "phone", "person", "address", "national_id"];
    for (const kind of kinds) expect(found(`Name: [redacted:${kind}], Tel. [redacted:${kind}], born [redacted:${kind}]`)).toEqual([]);
  });

  it("no placeholder is taken for personal data, whatever stands before it", () => {
    const args = [
      "HIDDEN",
      "EMAIL",
      "PHONE",
      "IBAN",
      "CARD",
      "IDNUMBER",
      "IPADDR",
      "MACADDR",
      "ADDRESS",
      "PERSON",
      "BIRTHDATE",
      "ACCOUNT",
      "PLATE",
      "PLACE",
      "CUSTOM",
    ];
    const before = [
      "Name: ",
      "Herr ",
      "Dear ",
      "My name is ",
      "Tel. ",
      "IBAN ",
      "card ",
      "Passport No: ",
      "born ",
      "account number ",
      "plate ",
      "lat ",
      "12 ",
      '{"firstName":"',
    ];
    for (const word of args) for (const cue of before) expect([cue, found(`${cue}${word}_k482p137f`)]).toEqual([cue, []]);
  });

  it("personal data is no secret to the redactor", () => {
    const text = "jane.doe@siemens.com, +49 171 1234567, DE89 3704 0044 0532 0130 00, Herr Müller";
    expect(redactor.text(text)).toEqual({ text, findings: [] });
  });
});
