import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKnownSecrets, createPlaceholders, createRedactor } from "../../../../agent-server/security/security.ts";
import { longestPart, randomValue, spellings } from "../../../support/known-values.ts";
import { processorMs } from "../../../support/processor-time.ts";
import { runs } from "../../../support/soak.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const bytes = (text: string): Buffer => Buffer.from(text);
const value = "q7Rk2vXw9LmZ4tPb";

/** A redactor that knows the values of one environment file. */
const knowing = (...lines: string[]) => {
  const known = createKnownSecrets();
  known.learnFile("/w/.env", bytes(`${lines.join("\n")}\n`));
  return { known, redact: (text: string): string => createRedactor({ known }).text(text).text };
};

describe("a known value", () => {
  const { redact } = knowing(`NAME=${value}`);

  it.each(Object.entries(spellings))("is found when written as %s", (_, spell) => {
    const text = redact(`before ${spell(value)} after`);
    expect(text.startsWith("before ")).toBe(true);
    expect(text.endsWith(" after")).toBe(true);
    expect(text).toContain("[redacted:secret]");
    expect(longestPart(text, spell(value), value)).toBeLessThan(4);
  });

  it("is found in every spelling, whatever its characters", () => {
    fc.assert(
      fc.property(randomValue, fc.constantFrom(...Object.values(spellings)), (value, spell) => {
        const { redact } = knowing(`NAME="${value}"`);
        expect(longestPart(redact(`it is ${spell(value)}\nnext line`), spell(value), value)).toBeLessThan(8);
      }),
      { numRuns: runs(400, 5_000) },
    );
  });

  it.each([
    ["other scripts", "Größe-7Kq2-日本語-x9"],
    ["blanks", "a7 b9 k2 m4 x8 q3 z5"],
    ["quotes and backslashes", String.raw`a'7\q"K2\\m9%x3`],
    ["a percent sign", "9k%41%zz7Q&x2Lp%"],
  ])("with %s is found in every spelling that keeps it", (_, odd) => {
    const known = createKnownSecrets();
    known.learnValue(odd, "secret");
    const redactor = createRedactor({ known });
    for (const name of [
      "plain",
      "reversed",
      "blanks between",
      "base64",
      "base64 after one byte",
      "hex",
      "a list of bytes",
      "percent escapes",
      "escaped in JSON",
      "escaped in JSON twice",
    ]) {
      const spelled = spellings[name]?.(odd) ?? "";
      expect(longestPart(redactor.text(`x ${spelled} y`).text, spelled, odd), name).toBeLessThan(4);
    }
  });

  it("is found in fragments of eight characters, which are removed as far as they reach", () => {
    expect(redact(`cut: ${value.slice(2, 10)}`)).toBe("cut: [redacted:secret]");
    expect(redact(`cut: ${value.slice(0, 12)}#`)).toBe("cut: [redacted:secret]#");
    expect(redact(`cut: ${bytes(value.slice(3, 12)).toString("hex")}`)).toBe("cut: [redacted:secret]");
    expect(redact(`cut: ${value.slice(0, 7)}`)).toBe(`cut: ${value.slice(0, 7)}`);
  });

  it("is found inside a longer word, a path and an object's keys and values", () => {
    const known = createKnownSecrets();
    known.learnFile("/w/.env", bytes(`NAME=${value}`));
    expect(createRedactor({ known }).value({ path: `/tmp/a${value}b.txt`, [value]: [`${value}!`] })).toEqual({
      path: "/tmp/a[redacted:secret]b.txt",
      "[redacted:secret]": ["[redacted:secret]!"],
    });
  });

  it("stays hidden when a text is redacted twice", () => {
    const once = redact(`a ${value} b ${value.slice(1, 12)}`);
    expect(redact(once)).toBe(once);
  });
});

describe("a known value of ordinary words", () => {
  const { redact } = knowing("TITLE=correct horse battery staple", "DB_PASSWORD=excalibur7", "PIN_PASSWORD=ab12");

  it.each([
    ["correct horse battery staple", "[redacted:secret]"],
    ["correct-horse", "correct-horse"],
    ["the battery of a correct horse", "the battery of a correct horse"],
    ["log in with excalibur7 now", "log in with [redacted:password] now"],
    ["excalibur77 excalibur myexcalibur7", "excalibur77 excalibur myexcalibur7"],
    ["excalibur 7", "excalibur 7"],
    ["code ab12, not ab123", "code [redacted:password], not ab123"],
  ])("counts only as a whole: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });
});

describe("learning", () => {
  it("replaces what a file taught before, and clears what was remembered as clean", () => {
    const known = createKnownSecrets();
    const redactor = createRedactor({ known });
    const other = "Zx81Kp40Tr26Wq";
    expect(redactor.text(`a ${value} ${other}`).text).toBe(`a ${value} ${other}`);
    known.learnFile("/w/.env", bytes(`A=${value}`));
    expect(redactor.text(`a ${value} ${other}`).text).toBe(`a [redacted:secret] ${other}`);
    known.learnFile("/w/.env", bytes(`A=${other}`));
    expect(redactor.text(`a ${value} ${other}`).text).toBe(`a ${value} [redacted:secret]`);
    known.learnFile("/w/.env", bytes(""));
    expect(redactor.text(`a ${value} ${other}`).text).toBe(`a ${value} ${other}`);
  });

  it("changes nothing when a file is learned again as it was", () => {
    const { known } = knowing(`A=${value}`);
    const { version } = known;
    known.learnFile("/w/.env", bytes(`A=${value}\n`));
    known.learnValue("true", "secret");
    expect(known.version).toBe(version);
    known.learnValue("Zx81Kp40Tr26Wq", "token");
    expect(known.version).toBeGreaterThan(version);
    expect(known.find("Zx81Kp40Tr26Wq")).toEqual([{ start: 0, end: 14, kind: "token" }]);
  });

  it("keeps the values of one file when another teaches the same", () => {
    const known = createKnownSecrets();
    known.learnFile("/w/a.env", bytes(`A=${value}`));
    known.learnFile("/w/b.env", bytes(`B=${value}`));
    known.learnFile("/w/b.env", bytes(""));
    expect(known.find(value)).toHaveLength(1);
  });

  it("is bounded: files and values beyond the limits are not learned, and a long value is known in all its parts", () => {
    const random = fc.sample(
      fc.array(fc.constantFrom(...Array.from("ABCDEFGHJKLMNPQRSTUVWXYZ23456789abcdefgh")), { minLength: 10_000, maxLength: 10_000 }),
      1,
    );
    const long = (random[0] ?? []).join("");
    const { redact, known } = knowing(`A=${long}`);
    expect(redact(long.slice(3_000, 9_000))).toMatch(/^(?:\[redacted:secret\])+$/);
    known.learnFile("/w/huge", bytes(`A=${"x1 ".repeat(400_000)}\nB=Zx81Kp40Tr26Wq\n`));
    expect(known.find("Zx81Kp40Tr26Wq")).toEqual([]);
  });
});

describe("placeholders of a quest", () => {
  it("hide known values in every spelling, and give back what stood there", () => {
    const dataDir = mkdtempSync(join(tmpdir(), "lancelot-known-"));
    try {
      const known = createKnownSecrets();
      const quest = createPlaceholders({ dataDir, known }).of("quest");
      const text = `a ${value} b ${bytes(value).toString("hex")} c\n`;
      expect(quest.hideKnown(text, new Set())).toBe(text);
      const { version } = quest;
      known.learnFile("/w/.env", bytes(`A=${value}`));
      expect(quest.version).toBeGreaterThan(version);
      const hidden = quest.secrets.text(text).text;
      expect(hidden).toMatch(/^a HIDDEN_\w{9} b HIDDEN_\w{9} c\n$/);
      expect(quest.hideKnown(text, new Set())).toBe(hidden);
      expect(quest.restoreSecrets(hidden)).toBe(text);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });
});

describe("ordinary text", () => {
  const values = fc.sample(randomValue, { numRuns: 200, seed: 7 }).map((one, index) => `VALUE_${String(index)}="${one}"`);
  const { known, redact } = knowing(...values, "HOST=https://vault.camelot.internal/v1", "TITLE=The shop of the knights of Camelot");

  it.each(["zod/v4/core/schemas.js", "better-sqlite3/lib/database.js", "undici/lib/web/fetch/index.js", "typescript/package.json"])(
    "of a real package passes unchanged beside 200 known values: %s",
    (path) => {
      const [name, ...rest] = path.split("/");
      const manifest = createRequire(import.meta.url).resolve(`${name ?? ""}/package.json`);
      const text = readFileSync(manifest.replace("package.json", rest.join("/")), "utf8");
      expect(redact(text)).toBe(text);
    },
  );

  it.each([
    ["log lines", "[12:04:22] info  src/module-7/file_49.ts compiled in 31 ms, 0 errors\n"],
    ["one letter", "a"],
    ["hexadecimal", "0123456789abcdef"],
    ["backslashes and escapes", String.raw`\\\u0041\n%41%`],
    ["terminal sequences", "\u001b[1;32m\u001b]0;"],
    ["entities", "&amp;&amp;amp;&#6"],
    ["the beginning of a known value", "https://vault.camelot."],
  ])("of a megabyte takes milliseconds: %s", (_, unit) => {
    const text = unit.repeat(Math.ceil(1_000_000 / unit.length)).slice(0, 1_000_000);
    known.inspect("warm");
    const start = processorMs();
    expect(known.inspect(text).matches).toEqual([]);
    expect(processorMs() - start).toBeLessThan(2_000);
  });
});

describe("a secret file with a value that repeats itself", () => {
  // Each took half a minute or more, for every text that was searched.
  it.each(["<settings><00", "aB3$", "0xFF,", "k9", "Zq7-", "pass word 1 "])("of %j is found in time in proportion", (unit) => {
    const text = unit.repeat(13_000 / unit.length);
    const known = createKnownSecrets();
    known.learnFile(".env", Buffer.from(text));
    const before = processorMs();
    for (const searched of [text, Buffer.from(text).toString("base64"), encodeURIComponent(text)]) {
      known.find(searched);
      known.inspect(searched);
    }
    expect(processorMs() - before).toBeLessThan(10_000);
  });

  it("is read in time in proportion, also where a line has no words but separators", () => {
    const known = createKnownSecrets();
    const before = processorMs();
    known.learnFile(".env", Buffer.from(`machine example${"*".repeat(60)}password.com login me password hunter2hunter2\n`));
    expect(processorMs() - before).toBeLessThan(10_000);
  });
});
