import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKnownSecrets, createRedactor } from "../../../../agent-server/security/security.ts";
import { createSafeStream, type ShownEnd } from "../../../../agent-server/tools/command/redacted-stream.ts";
import { longestPart, randomValue, spellings } from "../../../support/known-values.ts";
import { runs } from "../../../support/soak.ts";

const redactorFor = (...values: string[]) => {
  const known = createKnownSecrets();
  known.learnFile("/w/.env", Buffer.from(values.map((value, index) => `V${String(index)}="${value}"\n`).join("")));
  return createRedactor({ known });
};

/** Streams a text in pieces, with a pause after some of them, and returns what was shown before and at the end. */
function play(redactor: ReturnType<typeof createRedactor>, pieces: readonly { text: string; pause: boolean }[], shown?: ShownEnd) {
  const stream = createSafeStream(redactor, shown);
  let live = "";
  for (const { text, pause } of pieces) live += stream.add(text) + (pause ? stream.unended() : "");
  return { live, all: live + stream.end() };
}

const cut = (text: string, sizes: readonly number[], pauses: readonly boolean[]) => {
  const pieces: { text: string; pause: boolean }[] = [];
  for (let at = 0, index = 0; at < text.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    pieces.push({ text: text.slice(at, at + size), pause: pauses[index % pauses.length] ?? false });
    at += size;
  }
  return pieces;
};

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 });
const pauses = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });

describe("a known value in a stream", () => {
  it("is never shown for eight characters or more, in any spelling, chunks and pauses", () => {
    fc.assert(
      fc.property(randomValue, fc.constantFrom(...Object.keys(spellings)), sizes, pauses, (value, name, sizes, pauses) => {
        const spelled = spellings[name]?.(value) ?? "";
        const { all } = play(redactorFor(value), cut(`the value is ${spelled} today\nlast line\n`, sizes, pauses));
        expect(longestPart(all, spelled, value)).toBeLessThan(8);
        expect(all.endsWith("last line\n")).toBe(true);
      }),
      { numRuns: runs(400, 5_000) },
    );
  });

  it("is hidden when three of its characters come at a time, with a pause and a line end after each", () => {
    const value = "q7Rk2vXw9LmZ4tPb";
    for (const end of ["", "\n", " ", "\u001b[0m", "\r\n"]) {
      const pieces = (value.match(/.{1,3}/g) ?? []).map((part) => ({ text: part + end, pause: true }));
      const { live, all } = play(redactorFor(value), pieces);
      expect(stripVTControlCharacters(live).replace(/\s|\[redacted:secret\]/g, "").length).toBeLessThanOrEqual(3);
      expect(all).toContain("[redacted:secret]");
      expect(all).not.toContain(value.slice(3, 6));
    }
  });

  it("is hidden when it is split between stdout and stderr", () => {
    const value = "q7Rk2vXw9LmZ4tPb";
    const redactor = redactorFor(value);
    const shown = { text: "" };
    const streams = [createSafeStream(redactor, shown), createSafeStream(redactor, shown)];
    let live = "";
    for (const [index, part] of (value.match(/.{1,2}/g) ?? []).entries()) {
      const stream = streams[index % 2];
      live += (stream?.add(`${part}\n`) ?? "") + (stream?.unended() ?? "");
    }
    for (const stream of streams) live += stream.end();
    expect(longestPart(live, value, value)).toBeLessThan(8);
  });

  it("is hidden in an endless line, whose buffer stays bounded", () => {
    const value = "q7Rk2vXw9LmZ4tPb";
    const stream = createSafeStream(redactorFor(value));
    let live = "";
    for (let index = 0; index < 200; index += 1)
      live += stream.add(`${"filler ".repeat(100)}${value.slice(0, 7)}`) + stream.add(value.slice(7));
    expect(live.length).toBeGreaterThan(100_000);
    live += stream.end();
    expect(longestPart(live, value, value)).toBeLessThan(8);
  });
});

describe("ordinary text in a stream with known values", () => {
  const redactor = redactorFor("q7Rk2vXw9LmZ4tPb", "correct horse battery staple", "https://vault.camelot.internal/v1");

  it.each(["Continue? [y/N] ", "Password: ", "Username for 'https://github.com': ", "> ", "$ ", "(yes/no/[fingerprint])? ", "50% done"])(
    "shows a prompt after a pause: %s",
    (prompt) => {
      expect(play(redactor, [{ text: prompt, pause: true }]).live).toBe(prompt);
    },
  );

  it("passes unchanged, each line as soon as it is complete", () => {
    const word = fc.constantFrom(
      "const",
      "value",
      "=",
      "correct",
      "horse",
      "42",
      "0f1e2d",
      "https://",
      "ok",
      "\t",
      "-",
      "src/index.ts",
      "✓",
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), sizes, pauses, (words, sizes, pauses) => {
        const text = `${words.join(" ")}\n`;
        expect(play(redactor, cut(text, sizes, pauses)).all).toBe(text);
      }),
      { numRuns: runs(200, 2_000) },
    );
    expect(play(redactor, [{ text: "line 1\nline 2\n", pause: false }]).live).toBe("line 1\nline 2\n");
  });
});
