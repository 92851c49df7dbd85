import { describe, expect, it } from "vitest";
import { cleanText } from "../../../../agent-server/memory/gates/hidden-characters.ts";

describe("characters that nobody sees", () => {
  it.each([
    ["a widthless space", "run\u200bner", "runner"],
    ["a soft hyphen", "run\u00adner", "runner"],
    ["a joiner between Latin letters", "run\u200dner", "runner"],
    ["an override of direction", "run \u202eretsam\u202c", "run retsam"],
    ["tags", `fine${String.fromCodePoint(0xe0069, 0xe0067)}`, "fine"],
    ["the mark at the start", "\ufeffrunner", "runner"],
    ["fillers", "run\u3164\u115fner", "runner"],
    ["a selector after a letter", "run\ufe0fner", "runner"],
    ["colours of a terminal", "\u001b[31mrun\u001b[0mner", "runner"],
    ["control characters", "run\u0007\u0000ner", "runner"],
  ])("%s is taken out", (_what, text, clean) => {
    expect(cleanText(text).text).toBe(clean);
  });

  it.each([
    ["a family", "👩\u200d👩\u200d👧"],
    ["a hand of some colour at work", "👩🏽\u200d💻"],
    ["a heart in red", "❤\ufe0f"],
    ["a digit on a key", "1\ufe0f\u20e3"],
    ["a flag", `\u{1f3f4}${String.fromCodePoint(0xe0067, 0xe0062, 0xe0065, 0xe006e, 0xe0067, 0xe007f)}`],
    ["Persian", "می\u200cخواهم"],
    ["Hindi", "क्\u200dष"],
    ["lines and tabs", "a\n\tb"],
  ])("%s stays", (_what, text) => {
    expect(cleanText(text)).toEqual({ text, hidden: 0 });
  });
});
