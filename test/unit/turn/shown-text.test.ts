import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../agent-server/security/security.ts";
import { createShownText } from "../../../agent-server/turn/shown-text.ts";

const token = `sk-ant-api03-${"a1B2c3D4".repeat(11)}-abcdefAA`;
const key = `-----BEGIN PRIVATE KEY-----\n${`${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(2)}\n`.repeat(20)}-----END PRIVATE KEY-----`;

/** Adds `text` in pieces of at most `size` characters. @returns what was released after each */
function stream(text: string, size: number): string[] {
  const shown = createShownText(createRedactor());
  const released: string[] = [];
  for (let at = 0; at < text.length; at += size) {
    shown.add(text.slice(at, at + size));
    released.push(shown.release()?.text ?? "");
  }
  released.push(shown.release("end")?.text ?? "");
  expect(released.join("")).toBe(shown.text);
  return released;
}

describe("text that is shown while it arrives", () => {
  it.each([
    ["a token", `Your key is ${token} today.`, token],
    ["a token without blanks around it", `{"key":"${token}"}`, token],
    ["a password by its name", "Set DB_PASSWORD=Tr0ub4dor&3x9 and go on.", "Tr0ub4dor&3x9"],
    ["a private key", `This is it:\n${key}\nKeep it.`, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"],
  ])("has no part of %s, in pieces of any size", (_, text, secret) => {
    const whole = createRedactor().text(text).text;
    expect(whole).not.toContain(secret);
    for (const size of [1, 2, 3, 7, 20, 100, 5_000]) {
      const released = stream(text, size);
      expect(released.join("")).toBe(whole);
      for (const piece of released) expect(piece).not.toContain(secret.slice(0, 8));
    }
  });

  it("is all of a text without secrets, in order, and with its last word only at its end", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("one", " ", "\n", "two-three", "é", "日本語", "# ", "`x`"), { maxLength: 60 }), (words) => {
        const text = words.join("");
        expect(stream(text, 3).join("")).toBe(text);
      }),
    );
    const shown = createShownText(createRedactor());
    shown.add("one two");
    expect(shown.release()).toEqual({ offset: 0, text: "one " });
    expect(shown.release()).toBeNull();
    shown.add(" three 日本");
    expect(shown.release()).toEqual({ offset: 4, text: "two three 日本" });
  });

  it("shows the last word after a pause, unless it may become a secret", () => {
    const redactor = createRedactor();
    const after = (text: string): string => {
      const shown = createShownText(redactor);
      shown.add(text);
      return shown.release("pause")?.text ?? "";
    };
    expect(after("I write the file.")).toBe("I write the file.");
    expect(after("Your key is sk-ant-api03-a1B2")).toBe("Your key is ");
    expect(after(`A key:\n${key.slice(0, 300)}`)).toBe("A key:\n");
    const mention = "It begins with -----BEGIN PRIVATE KEY----- and then come lines of";
    expect(after(mention)).toBe(mention);
  });

  it("holds no more than a bounded end", () => {
    const shown = createShownText(createRedactor());
    for (let count = 0; count < 100; count++) {
      shown.add("x/".repeat(500));
      shown.release();
    }
    expect(shown.text.length).toBeGreaterThan(80_000);
  });
});
