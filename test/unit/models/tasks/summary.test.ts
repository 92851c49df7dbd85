import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "../../../../agent-server/models/tasks/estimate.ts";
import { problemOf } from "../../../../agent-server/models/tasks/summarize.ts";
import { summarizeByRules } from "../../../../agent-server/models/tasks/summary-rules.ts";
import { sentencesOf } from "../../../../agent-server/models/tasks/summary-units.ts";

const log = `We looked into the slow start of the importer today. It was a long day and the coffee was cold.
The profile shows that 83 % of the time is spent in src/import/parse.ts, mostly in readLine.
Some people like tabs and some people like spaces. That is how it is.

We decided to read the file in chunks of 64 kB instead of line by line. The old flag --legacy must never be removed, because the nightly job needs it.
Anna said the weather is nice. Then we talked about lunch for a while.

## Open
- [ ] config/import.yaml needs a new key chunk_size
- [x] tests in test/import.test.ts are green, 214 of 214
- the door of the office squeaks

\`\`\`ts
for (const line of lines) parse(line);
for (const line of lines) parse(line);
for (const line of lines) parse(line);
\`\`\`

2026-11-02T10:22:31Z INFO started
2026-11-02T10:22:32Z INFO reading
2026-11-02T10:22:36Z ERROR ENOSPC: no space left on device, write
2026-11-02T10:22:37Z INFO done

And so the day ended. Everybody went home.`;

describe("a summary by rules", () => {
  const summary = summarizeByRules(log, 170);

  it("keeps files, numbers and decisions, and what went wrong", () => {
    for (const part of ["src/import/parse.ts", "83 %", "64 kB", "--legacy must never be removed", "config/import.yaml", "ENOSPC"])
      expect(summary).toContain(part);
  });

  it("leaves small talk and repeated code out", () => {
    for (const part of ["coffee", "lunch", "squeaks", "tabs", "for (const line"]) expect(summary).not.toContain(part);
  });

  it("says nothing that the text does not, in its order", () => {
    const pieces = summary
      .split("\n")
      .flatMap((line) => sentencesOf(line))
      .filter((piece) => !piece.startsWith("Also named:"));
    let at = -1;
    for (const piece of pieces) {
      const next = log.replaceAll("\n", " ").indexOf(piece.replaceAll("\n", " "));
      expect(next, piece).toBeGreaterThan(at);
      at = next;
    }
  });

  it("names the files that had no room", () => {
    const text = Array.from(
      { length: 30 },
      (_, index) => `The file src/part${index}.ts does its own thing and nobody minds that it does.`,
    ).join(" ");
    expect(summarizeByRules(text, 120)).toMatch(/Also named: src\/part\d+\.ts, .* and \d+ more\.$/);
  });

  it("is the text itself where that is short enough", () => {
    expect(summarizeByRules("  Two words. ", 50)).toBe("Two words.");
  });

  it("holds its limit, whatever the text", () => {
    const sentence = fc.oneof(
      fc.constantFrom(
        "We decided to use src/a/b.ts. ",
        "Error: 42 failed!\n",
        "```\ncode();\n```\n",
        "- item one\n",
        "# Head\n",
        "z.B. v1.2.3 ist da. ",
        "これはテストです。",
      ),
      fc.string({ unit: "grapheme", maxLength: 80 }),
    );
    fc.assert(
      fc.property(fc.array(sentence, { maxLength: 40 }), fc.integer({ min: 10, max: 200 }), (pieces, limit) => {
        const result = summarizeByRules(pieces.join(""), limit);
        expect(estimateTokens(result)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it("takes a text without sentences, and a megabyte", () => {
    expect(summarizeByRules("x".repeat(5_000), 20).length).toBeGreaterThan(0);
    expect(estimateTokens(summarizeByRules(`${log}\n\n`.repeat(700), 300))).toBeLessThanOrEqual(300);
  });
});

describe("where a sentence ends", () => {
  it.each([
    ["Use v1.2.3 of app.config.js. Then stop.", ["Use v1.2.3 of app.config.js.", "Then stop."]],
    ["See e.g. Kubernetes. It works!", ["See e.g. Kubernetes.", "It works!"]],
    ["One. two three.", ["One. two three."]],
    ["これは。それは。", ["これは。", "それは。"]],
    ["", []],
  ])("%j", (text, sentences) => {
    expect(sentencesOf(text)).toEqual(sentences);
  });
});

describe("a model's summary", () => {
  it.each([
    ["a file", "The bug is in a.ts.", "The bug is in b.ts."],
    ["a number", "It took 12 ms.", "It took 15 ms."],
    ["a name in code", "Call readLine.", "Call writeLine."],
  ])("is refused when it names %s that the text does not", (_, text, wrong) => {
    expect(problemOf(text, text, 100)).toBeNull();
    expect(problemOf(text, wrong, 100)).not.toBeNull();
  });

  it("is refused when it says next to nothing", () => {
    expect(problemOf("The importer was slow because it read line by line.", "slow", 100)).toContain("too short");
  });

  it("is refused when it is too long", () => {
    expect(problemOf("a", "word ".repeat(200), 50)).toContain("too long");
  });
});
