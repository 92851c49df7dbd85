import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createRedactor } from "../../../../agent-server/security/security.ts";
import { createHeadAndTail } from "../../../../agent-server/tools/command/head-and-tail.ts";
import { createCommandOutput, liveUnits } from "../../../../agent-server/tools/command/command-output.ts";
import { createSafeStream } from "../../../../agent-server/tools/command/redacted-stream.ts";
import { processorMs } from "../../../support/processor-time.ts";
import { plainTerminalText } from "../../../../agent-server/tools/command/terminal-text.ts";

const redactor = createRedactor();
const token = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
const bytes = (text: string) => new TextEncoder().encode(text);

describe("plain text of a terminal", () => {
  it.each([
    ["colours", "\u001b[31mred\u001b[0m and \u001b[1;38;5;208mbold\u001b[m", "red and bold"],
    ["a progress bar", "10%\r50%\r100% done\nnext", "100% done\nnext"],
    ["a shorter text over a longer one", "loading...\rok", "okading..."],
    ["backspaces", "abc\b\bXY", "aXY"],
    ["line ends of Windows", "a\r\nb\r\r\nc", "a\nb\nc"],
    ["a title and a link", "\u001b]0;title\u0007text \u001b]8;;https://example.org\u0007name\u001b]8;;\u0007", "text name"],
    ["a bell, and tabs that stay", "a\u0007\tb", "a\tb"],
    ["a title that never ends", "a\u001b]0;title\nb", "a0;title\nb"],
  ])("%s", (_what, text, plain) => {
    expect(plainTerminalText(text)).toBe(plain);
  });

  it.each([
    "\r",
    "\u001b]",
    "\u009d",
    "\u001b]k ",
    "\u001b]8;;x",
    "2 \u001b]k\u001b[0m ",
    "\u001b[",
    "\u001b[1;",
    "\u001bP",
    "\b",
    "\u001b",
  ])("half a million characters of %j take time in proportion", (unit) => {
    const before = processorMs();
    plainTerminalText(unit.repeat(500_000 / unit.length));
    // Some took minutes.
    expect(processorMs() - before).toBeLessThan(5_000);
  });

  it("leaves ordinary text as it is", () => {
    const printable = fc.string({ unit: "grapheme" }).map((text) => text.replace(/\p{Cc}/gu, ""));
    fc.assert(fc.property(printable, (text) => plainTerminalText(text) === text));
  });
});

describe("head and tail", () => {
  it("keeps a short text complete, in any chunks", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 20 }), { maxLength: 10 }), (pieces) => {
        const kept = createHeadAndTail(300, 300);
        for (const piece of pieces) kept.add(piece);
        expect(kept.text(() => "gap")).toBe(pieces.join(""));
      }),
    );
  });

  it("drops whole lines from the middle of a long text, and counts them", () => {
    const kept = createHeadAndTail(9, 40);
    const lines = Array.from({ length: 500 }, (_, index) => `line ${String(index).padStart(3, "0")}\n`);
    for (const line of lines) kept.add(line);
    let dropped = { units: 0, lines: 0 };
    const text = kept.text((what) => {
      dropped = what;
      return "[gap]";
    });
    expect(text.startsWith("line 000\n")).toBe(true);
    expect(text.endsWith("line 498\nline 499\n")).toBe(true);
    expect(text.length - "[gap]\n".length + dropped.units).toBe(lines.join("").length);
    expect(dropped.lines).toBeGreaterThan(480);
  });
});

describe("redaction of a stream", () => {
  it("finds a secret in any chunks", () => {
    const text = `first\nexport TOKEN is ${token} here\nlast`;
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const stream = createSafeStream(redactor);
        const points = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        let out = "";
        for (const [index, point] of points.entries()) out += stream.add(text.slice(point, points[index + 1] ?? text.length));
        out += stream.end();
        expect(out).toBe(redactor.text(text).text);
        expect(out).not.toContain(token);
      }),
    );
  });

  it("buffers a private key until its end, also during a pause", () => {
    const body = Array.from({ length: 12 }, () => "MIIEpAIBAAKCAQEAxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyz1234");
    const stream = createSafeStream(redactor);
    let out = stream.add("a\n-----BEGIN RSA PRIVATE KEY-----\n");
    for (const line of body) out += stream.add(`${line}\n`) + stream.unended();
    expect(out).toBe("a\n");
    out += stream.add("-----END RSA PRIVATE KEY-----\nb\n");
    expect(out).toMatch(/^a\n\[redacted:[a-z_ -]+\]\nb\n$/);
  });

  it("releases a line without an end before it exceeds the limit", () => {
    const stream = createSafeStream(redactor);
    let passed = 0;
    for (let index = 0; index < 100; index += 1) passed += stream.add("x".repeat(1_000)).length;
    expect(passed).toBeGreaterThan(80_000);
    expect(passed + stream.end().length).toBe(100_000);
  });
});

describe("output of a command", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const watch = () => {
    const pieces: { offset: number; text: string }[] = [];
    return { pieces, output: createCommandOutput({ redactor, onText: (piece) => pieces.push(piece) }) };
  };

  it("joins split characters, and never joins lines of different streams", () => {
    const { output, pieces } = watch();
    const [head, tail] = [bytes("größe\n").slice(0, 3), bytes("größe\n").slice(3)];
    output.add("stdout", head);
    output.add("stderr", bytes("warning\n"));
    output.add("stdout", tail);
    output.end();
    expect(pieces.map(({ text }) => text).join("")).toBe("warning\ngröße\n");
    expect(output.text()).toBe("warning\ngröße\n");
  });

  it("shows a prompt that has no line end", () => {
    const { output, pieces } = watch();
    output.add("stdout", bytes("Continue? [y/N] "));
    vi.advanceTimersByTime(1_000);
    expect(pieces).toEqual([{ offset: 0, text: "Continue? [y/N] " }]);
  });

  it("batches output, and sends each part once with its offset", () => {
    const { output, pieces } = watch();
    for (let index = 0; index < 1_000; index += 1) output.add("stdout", bytes(`line ${index}\n`));
    vi.advanceTimersByTime(60);
    output.add("stdout", bytes("more\n"));
    output.end();
    expect(pieces).toHaveLength(2);
    expect(pieces[1]?.offset).toBe(pieces[0]?.text.length);
    expect(output.live()).toEqual({ text: pieces.map(({ text }) => text).join(""), skipped: 0 });
  });

  it("keeps no more of a large output than a card shows, and counts the rest", () => {
    const { output, pieces } = watch();
    const line = `${"y".repeat(99)}\n`;
    for (let index = 0; index < 20_000; index += 1) output.add("stdout", bytes(line));
    output.end();
    const { text, skipped } = output.live();
    expect(text.length).toBeLessThanOrEqual(liveUnits);
    expect(skipped + text.length).toBe(2_000_000);
    const last = pieces.at(-1);
    expect((last?.offset ?? 0) + (last?.text.length ?? 0)).toBe(2_000_000);
    expect(output.text().length).toBeLessThan(20_000);
    expect(output.text()).toMatch(/\n\[… 19\d{3} lines omitted …\]\n/);
  });

  it("shows no secret to the card or the model", () => {
    const { output, pieces } = watch();
    output.add("stdout", bytes(`token=${token.slice(0, 20)}`));
    output.add("stdout", bytes(`${token.slice(20)}\n`));
    output.end();
    for (const text of [output.text(), output.live().text, ...pieces.map((piece) => piece.text)]) expect(text).not.toContain(token);
  });
});
