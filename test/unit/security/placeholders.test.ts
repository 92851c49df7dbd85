import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPlaceholders, createRedactor, createRestorer, type Placeholders } from "../../../agent-server/security/security.ts";
import { createKnownValues } from "../../../agent-server/security/placeholders/known-values.ts";
import { allPersonal } from "../../support/placeholders/small-detector.ts";
import { secretSamples, token } from "../../support/secret-samples.ts";
import { runs } from "../../support/soak.ts";

let dataDir: string;
let placeholders: Placeholders;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), "lancelot-placeholders-"));
  placeholders = createPlaceholders({ dataDir });
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const apiKey = token("sk-proj-", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fXaB3dE6gH");
const fresh = () => placeholders.of(null);
const everything = (quest: ReturnType<typeof fresh>, text: string): string => quest.restoreSecrets(quest.restorePersonal(text));

describe("hiding", () => {
  it("gives a value one placeholder in a quest, after a restart too, and another in another quest", () => {
    const text = `mail jane.doe@example.org or call +49 30 901820, key ${apiKey}`;
    const one = placeholders.of("quest-1").hide(text, allPersonal);
    expect(one).toMatch(/^mail EMAIL_\w{9} or call PHONE_\w{9}, key HIDDEN_\w{9}$/);
    expect(placeholders.of("quest-1").hide(text, allPersonal)).toBe(one);
    expect(createPlaceholders({ dataDir }).of("quest-1").hide(text, allPersonal)).toBe(one);
    const other = placeholders.of("quest-2").hide(text, allPersonal);
    expect(other.match(/_\w{9}/g)).not.toEqual(one.match(/_\w{9}/g));
    expect(placeholders.of("quest-2").restorePersonal(one)).toBe(one);
  });

  it.each(secretSamples.map(([kind, text, secret]) => ({ kind, text: text.replace("§", () => secret), secret })))(
    "hides and gives back $kind in $text",
    ({ text, secret }) => {
      const quest = fresh();
      const hidden = quest.secrets.text(text).text;
      for (const line of secret.split(/\n/)) if (line.length > 7 && !line.startsWith("-----")) expect(hidden).not.toContain(line);
      expect(quest.secrets.text(hidden).text).toBe(hidden);
      expect(createRedactor().text(hidden).text).toBe(hidden);
      expect(hidden.split("\n")).toHaveLength(text.split("\n").length);
      expect(quest.restoreSecrets(hidden)).toBe(text);
    },
  );

  it("hides a value that was found once wherever it stands by itself", () => {
    const quest = fresh();
    const text = `name: "Anna Schmidt"\n// Anna Schmidt wrote this\nconst AnnaSchmidtX = 1;\nkey ${apiKey}`;
    const hidden = quest.hide(text, allPersonal);
    expect(hidden).toMatch(/^name: "(PERSON_\w{9})"\n\/\/ \1 wrote this\nconst AnnaSchmidtX = 1;\nkey HIDDEN_\w{9}$/);
    expect(quest.hide("ask Anna Schmidt", allPersonal)).toMatch(/^ask PERSON_\w{9}$/);
    expect(quest.secrets.text(`plain ${apiKey.slice(8)} and ${apiKey}`).text).not.toContain(apiKey);
  });

  it("hides a secret that was learned at run time in every later text and value, whatever stands around it", () => {
    const quest = fresh();
    const secret = "vT7kq2Lm9xWz4";
    expect(quest.secrets.text(`it is ${secret}`).text).toContain(secret);
    const hidden = quest.learnFrom("/w/.env", `DB_PASSWORD=${secret}\n`);
    const placeholder = /HIDDEN_\w{9}/.exec(hidden)?.[0] ?? "";
    expect(quest.secrets.text(`it is ${secret}`)).toMatchObject({ text: `it is ${placeholder}` });
    expect(quest.secrets.value({ log: [`connect ${secret}`, { line: secret }], count: 1 })).toEqual({
      log: [`connect ${placeholder}`, { line: placeholder }],
      count: 1,
    });
    expect(quest.hide(`it is ${secret}`, allPersonal)).toBe(`it is ${placeholder}`);
    expect(quest.hideKnown(`it is ${secret}`, new Set())).toBe(`it is ${placeholder}`);
    expect(quest.learnFrom("/w/other.txt", `see ${secret}`)).toBe(`see ${placeholder}`);
    expect(quest.secretsIn(placeholder)[0]?.places).toEqual(new Set(["/w/.env", "/w/other.txt"]));
    expect(fresh().secrets.text(`it is ${secret}`).text).toContain(secret);
  });

  it("treats a value that was personal data as a secret once it was used as one", () => {
    const quest = fresh();
    const value = "jane.doe1@example.org";
    quest.hide(`mail ${value}`, allPersonal);
    const hidden = quest.secrets.text(`PASSWORD="${value}"`).text;
    expect(hidden).toMatch(/^PASSWORD="HIDDEN_\w{9}"$/);
    expect(quest.restorePersonal(hidden)).toBe(hidden);
  });

  it("restores secrets alone where secrets are restored", () => {
    const quest = fresh();
    const hidden = quest.hide("mail jane.doe@example.org", allPersonal);
    expect(hidden).toMatch(/^mail EMAIL_\w{9}$/);
    expect(quest.restoreSecrets(hidden)).toBe(hidden);
  });

  it("replaces the longest of several known values that begin alike", () => {
    const known = createKnownValues();
    known.add("Anna Berg", "SHORT");
    known.add("Anna Berg Lind", "LONG");
    known.add("Anna", "SHORTEST");
    expect(known.replace("Anna Berg Lind, Anna Berg, Anna")).toBe("LONG, SHORT, SHORTEST");
  });

  it("hides a secret that was learned since in a text that was already hidden", () => {
    const quest = fresh();
    const text = "deploy with vT7kq2Lm9xWz4 now";
    expect(quest.hide(text, allPersonal)).toBe(text);
    quest.secrets.text("DB_PASSWORD=vT7kq2Lm9xWz4\n");
    expect(quest.hide(text, allPersonal)).toMatch(/^deploy with HIDDEN_\w{9} now$/);
  });

  it("does not make a secret of an ordinary word that was a password once", () => {
    const quest = fresh();
    quest.secrets.text("POSTGRES_PASSWORD=postgres1\n");
    expect(quest.secrets.text("psql -d postgres1").text).toBe("psql -d postgres1");
  });

  it("hides only the kinds that are wanted", () => {
    const rules = { ...allPersonal, kinds: new Set(["phone"] as const) };
    expect(fresh().hide("jane@example.org +49 30 901820", rules)).toMatch(/^jane@example\.org PHONE_\w{9}$/);
  });

  it("takes what was found besides, in the text as it is without secrets", () => {
    const quest = fresh();
    const text = "met Erika Muster in Ulm";
    const hidden = quest.hide(text, allPersonal, [{ start: 4, end: 16, kind: "person" }]);
    expect(hidden).toMatch(/^met PERSON_\w{9} in Ulm$/);
    expect(quest.restorePersonal(hidden)).toBe(text);
  });

  it("keeps every line of a key in its place", () => {
    const body = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw", "ggSjAgEAAoIBAQC7VJTUt9Us8cKjMzEfYyji", "wA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictG"];
    const text = ["a: 1", token("-----BEGIN ", "PRIVATE KEY-----"), ...body, token("-----END ", "PRIVATE KEY-----"), "b: 2"].join("\n");
    const quest = fresh();
    const hidden = quest.secrets.text(text).text.split("\n");
    expect(hidden).toHaveLength(7);
    expect(hidden.slice(2, 5).every((line) => /^HIDDEN_\w{9}$/.test(line))).toBe(true);
    // A line of it alone is still known.
    expect(quest.secrets.text(`> ${body[1]}`).text).toBe(`> ${hidden[3]}`);
  });
});

describe("restoring", () => {
  const quest = () => {
    const made = fresh();
    const mail = made.hide("jane.doe@example.org", allPersonal);
    return { made, mail, hash: mail.slice(6) };
  };

  it.each([
    ["small letters", (mail: string) => mail.toLowerCase()],
    ["a plural", (mail: string) => `${mail}s`, "s"],
    ["an underscore escaped for Markdown", (mail: string) => mail.replace("_", "\\_")],
    ["an underscore escaped twice", (mail: string) => mail.replace("_", "\\\\_")],
    ["an underscore written for an address", (mail: string) => mail.replace("_", "%5F")],
    ["a dash", (mail: string) => mail.replace("_", "-")],
    ["no joint", (mail: string) => mail.replace("_", "")],
    ["another word of the same list", (mail: string) => mail.replace("EMAIL", "PERSON")],
    ["digits right behind", (mail: string) => `${mail}42`, "42"],
    ["letters right before and behind", (mail: string) => `x${mail}y`, "y", "x"],
  ])("finds a placeholder in %s", (_how, write, behind = "", before = "") => {
    const { made, mail } = quest();
    expect(made.restorePersonal(`see ${write(mail)}.`)).toBe(`see ${before}jane.doe@example.org${behind}.`);
  });

  it("leaves alone and names what stands for nothing", () => {
    const { made, hash } = quest();
    const invented = `EMAIL_${hash.startsWith("b") ? "c" : "b"}${hash.slice(1)}`;
    const text = `${invented} and EMAIL_jane and hidden_element and EMAIL_${hash.slice(0, 8)}`;
    expect(made.restorePersonal(text)).toBe(text);
    expect(made.unknownIn(text)).toEqual([invented]);
  });

  it("never gives a secret for words", () => {
    const { made } = quest();
    const hidden = made.secrets.text(`key ${apiKey}`).text;
    expect(made.restorePersonal(hidden)).toBe(hidden);
    expect(made.secretsIn(hidden)).toEqual([{ written: hidden.slice(4), value: apiKey, places: new Set() }]);
    expect(made.learnFrom("/w/a.ts", `key ${apiKey}`)).toBe(hidden);
    expect(made.secretsIn(hidden)[0]?.places).toEqual(new Set(["/w/a.ts"]));
  });

  it("gives a stream on as it would give the whole, however it is cut", () => {
    const { made, mail } = quest();
    const piece = fc.oneof(
      fc.constantFrom(mail, mail.toLowerCase(), mail.slice(0, 9), "EMAIL", "emai", "PERSON_", "HIDDEN_k", "\\_", "%5", "e", "\n"),
      fc.string({ maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 8 }), (parts, cuts) => {
        const text = parts.join("");
        const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
        const restorer = createRestorer(made);
        let out = "";
        let last = 0;
        for (const place of [...places, text.length]) {
          out += restorer.add(text.slice(last, place));
          // Nothing that was given on may yet turn out to be part of a placeholder.
          expect(made.restorePersonal(text).startsWith(out)).toBe(true);
          last = place;
        }
        expect(out + restorer.end()).toBe(made.restorePersonal(text));
      }),
      { numRuns: runs(150, 600) },
    );
  });
});

const lookAlike = fc
  .tuple(fc.constantFrom("EMAIL_", "hidden-", "PERSON", "IBAN\\_", "Place%5f"), fc.stringMatching(/^[bcdfg]\d{3}[hjkmn]\d{3}[pqrst]$/))
  .map((parts) => parts.join(""));
const hostile = fc
  .array(
    fc.oneof(
      lookAlike,
      fc.constantFrom(
        "jane.doe@example.org",
        "+49 30 901820",
        "DE89 3704 0044 0532 0130 00",
        'name: "Anna Schmidt"',
        "Anna Schmidt",
        apiKey,
        "password=hunter2x!\n",
        "postgres://arthur:s3cr3t-w0rd@db/x",
        'token: "',
        "api_key=",
        "Bearer ",
        "\r\n",
        "\uE000",
        "_",
        " ",
        '"',
        "\\n",
      ),
      fc.string({ maxLength: 8 }),
      fc.string({ unit: "grapheme", maxLength: 5 }),
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(""));

describe("for every text", () => {
  it("restoring what was hidden gives the text, and hiding twice changes nothing more", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const quest = fresh();
        const hidden = quest.hide(text, allPersonal);
        expect(everything(quest, hidden)).toBe(text);
        expect(quest.hide(hidden, allPersonal)).toBe(hidden);
        const stored = quest.secrets.text(text).text;
        expect(quest.secrets.text(stored).text).toBe(stored);
        // What is stored without secrets is hidden as the text itself is.
        expect(everything(quest, quest.hide(stored, allPersonal))).toBe(text);
      }),
      { numRuns: runs(375, 1500) },
    );
  });

  it("leaves what holds nothing to hide as it is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(lookAlike, fc.lorem({ maxCount: 3 }), fc.constantFrom("\n", "`x`", "{}")), { maxLength: 10 }),
        (parts) => {
          const text = parts.join(" ");
          const quest = fresh();
          expect(quest.hide(text, allPersonal)).toBe(text);
          expect(quest.restorePersonal(text)).toBe(text);
        },
      ),
    );
  });
});

describe("the key", () => {
  it("is in a file of its own that only its owner reads", () => {
    placeholders.of("quest-1").hide("jane@example.org", allPersonal);
    expect(statSync(join(dataDir, "placeholders.key")).mode & 0o777).toBe(0o600);
  });

  it("is named when it is broken", () => {
    const folder = mkdtempSync(join(tmpdir(), "lancelot-placeholders-"));
    writeFileSync(join(folder, "placeholders.key"), "short");
    expect(() => createPlaceholders({ dataDir: folder }).of("q")).toThrow(/placeholders\.key cannot be read or created/);
    rmSync(folder, { recursive: true });
  });

  it("seals a text with a secret, opens it after a restart, and gives null without the key", () => {
    const text = `const key = "${apiKey}";\n`;
    const sealed = placeholders.seal(text, "quest-1");
    expect(sealed).not.toContain(apiKey.slice(10));
    expect(placeholders.seal("const key = 1;\n", "quest-1")).toBe("const key = 1;\n");
    expect(createPlaceholders({ dataDir }).open(sealed)).toBe(text);
    expect(placeholders.open(placeholders.seal(sealed, "quest-1"))).toBe(sealed);
    const elsewhere = mkdtempSync(join(tmpdir(), "lancelot-placeholders-"));
    expect(createPlaceholders({ dataDir: elsewhere }).open(sealed)).toBeNull();
    rmSync(elsewhere, { recursive: true });
    expect(readFileSync(join(dataDir, "placeholders.key"), "utf8")).not.toBe("");
  });
});
