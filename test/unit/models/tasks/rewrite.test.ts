import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keptParts, rewriteByRules } from "../../../../agent-server/models/tasks/rewrite-rules.ts";

describe("a question as words to search for", () => {
  it.each([
    ["Where do we handle the login of users?", ["login", "signin", "users"], ["where", "we", "the", "of"]],
    ['Why does it say "session expired" in LoginForm?', ['"session expired"', "LoginForm"], ["why", "does", "it"]],
    ["what is MAX_RETRIES in src/http/client.ts for", ["MAX_RETRIES", "src/http/client.ts"], ["what", "for"]],
    ["Wie funktioniert die Anmeldung?", ["funktioniert", "anmeldung", "login"], ["wie", "die"]],
    ["explain fetchUser() please", ["fetchUser"], ["explain", "please"]],
  ])("%j", (query, present, absent) => {
    const words = rewriteByRules(query).split(" ");
    for (const word of present) expect(rewriteByRules(query)).toContain(word);
    for (const word of absent) expect(words).not.toContain(word);
  });

  it("keeps what was quoted and the names, and is never empty or long", () => {
    const part = fc.constantFrom(
      '"exact words"',
      "`a.b()`",
      "fooBar",
      "snake_case",
      "src/x/y.ts",
      "where",
      "is",
      "the",
      "login",
      "HTTP",
      "E1234",
      "？",
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 12 }), (parts) => {
        const query = parts.join(" ");
        const rewritten = rewriteByRules(query);
        for (const kept of keptParts(query)) expect(rewritten).toContain(kept);
        expect(rewritten).not.toBe("");
        expect(rewritten.length).toBeLessThan(query.length + 400);
      }),
    );
  });

  it("takes anything", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 300 }), (query) => typeof rewriteByRules(query) === "string"));
    expect(rewriteByRules("the of and")).toBe("the of and");
  });
});
