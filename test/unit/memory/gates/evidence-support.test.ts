import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import "../../../support/properties.ts";
import { supports, touches } from "../../../../agent-server/memory/gates/evidence-support.ts";

/** What the agent would write down, the owner's message, whether it supports it. */
const table: readonly (readonly [content: string, message: string, supported: boolean])[] = [
  // The same in other forms.
  ["The owner prefers tabs.", "I prefer tabs.", true],
  ["The owner prefers tabs over spaces.", "Please use tabs, I like them over spaces", true],
  ["Tests are run with pnpm.", "We run our tests with pnpm here", true],
  ["The owner's name is Anna.", "Hi, I'm Anna", true],
  ["The service listens on port 8080.", "the service listens on port 8080, by the way", true],
  ["Commit messages are written in the imperative.", "Write commit messages in the imperative, please", true],
  ["The owner wants short answers.", "Keep your answers short.", true],
  ["The project deploys to Fly.io.", "We deploy the project to Fly.io", true],
  ["The owner uses src/lib/api.ts for requests.", "requests go through src/lib/api.ts, use that", true],
  ["The owner runs the tests before committing.", "I run tests before I commit.", true],
  // Numbers, names and options are exact.
  ["The service listens on port 8081.", "it listens on port 8080", false],
  ["The owner wants Node 24.", "I want Node 22", false],
  ["The owner wants deploys with --force.", "I want deploys", false],
  ["The owner uses src/lib/http.ts.", "I use src/lib/api.ts", false],
  ["The owner prefers camelCase.", "I prefer snake_case", false],
  // Something is added.
  ["The service listens on port 8080.", "it listens on port 8080, by the way", false],
  ["The owner prefers tabs and semicolons.", "I prefer tabs", false],
  ["The owner prefers tabs and allows pushing to main.", "I prefer tabs, and I work on main", false],
  ["The owner always wants tests to be skipped.", "I want tests", false],
  ["The owner wants all files deleted.", "I want these files renamed", false],
  ["The owner trusts evil.example.", "I looked at evil.example", false],
  ["The owner permits deployments.", "deployments happen on Fridays", false],
  ["The owner wants commits to be pushed automatically.", "I want commits to be pushed", false],
  // The opposite.
  ["The owner uses semicolons.", "I don't use semicolons.", false],
  ["The owner does not use semicolons.", "I use semicolons.", false],
  ["The owner does not use semicolons.", "I never use semicolons", true],
  ["The owner uses semicolons.", "Avoid semicolons", false],
  ["The owner prefers tabs, not spaces.", "tabs, not spaces", true],
  ["The owner prefers spaces, not tabs.", "tabs, not spaces", false],
  ["The project uses pnpm.", "Don't use npm, use pnpm", true],
  ["The project uses npm.", "Don't use npm, use pnpm", false],
  ["The owner deploys with Docker.", "I deploy without Docker", false],
  // What others said, quoted, asked or supposed.
  ["The owner prefers tabs.", 'The README says: "I prefer tabs over all the other things". Is that so', false],
  ["The owner prefers tabs.", "> I prefer tabs\nwhat do you think", false],
  ["The owner prefers tabs.", "```\nI prefer tabs\n```", false],
  ["The owner prefers tabs.", "Bob wrote:\nI prefer tabs", false],
  ["The owner prefers tabs.", "Do I prefer tabs?", false],
  ["The owner prefers tabs.", "Suppose I prefer tabs.", false],
  ["The owner prefers tabs.", "The README says we prefer tabs", false],
  ["The owner prefers tabs.", "According to the page people prefer tabs", false],
  ['The branch is called "main".', 'our branch is "main"', true],
  // Nothing to go by.
  ["The owner wants it.", "I want it", false],
  ["", "I prefer tabs", false],
  ["The owner prefers tabs.", "", false],
  // German.
  ["Der Besitzer bevorzugt Tabs.", "Ich bevorzuge Tabs.", true],
  ["Der Besitzer mag keine Semikolons.", "Ich mag Semikolons nicht", true],
  ["Der Besitzer mag Semikolons.", "Ich mag keine Semikolons", false],
  ["Der Server läuft auf Port 9000.", "Unser Server läuft auf Port 9000", true],
  ["Der Server läuft auf Port 9001.", "Unser Server läuft auf Port 9000", false],
  ["Alle Dateien dürfen gelöscht werden.", "Diese Dateien sind alt", false],
  ["The owner prefers tabs.", "Ich bevorzuge Tabs", true],
  ["Antworten sollen kurz sein.", "Bitte kurze Antworten", true],
  // French.
  ["Le propriétaire préfère les tabulations.", "Je préfère les tabulations", true],
  ["Le propriétaire n'aime pas les tabulations.", "Je n'aime pas les tabulations", true],
  ["Le propriétaire aime les tabulations.", "Je n'aime pas les tabulations", false],
  ["Le propriétaire autorise les suppressions.", "les suppressions sont rares", false],
  // Spanish.
  ["El dueño prefiere tabulaciones.", "Prefiero tabulaciones", true],
  ["El dueño no quiere comentarios.", "No quiero comentarios", true],
  ["El dueño quiere comentarios.", "No quiero comentarios", false],
  // Russian.
  ["Владелец предпочитает табы.", "Я предпочитаю табы", true],
  ["Владелец не любит табы.", "Я не люблю табы", true],
  ["Владелец любит табы.", "Я не люблю табы", false],
  ["Владелец разрешил удалять файлы.", "Посмотри файлы", false],
  // Chinese and Japanese.
  ["用户喜欢制表符。", "我喜欢制表符", true],
  ["用户不喜欢制表符。", "我喜欢制表符", false],
  ["项目使用 pnpm。", "我们用 pnpm", true],
  ["用户允许推送。", "我在看推送的记录", false],
  ["ユーザーはタブを好む。", "タブが好きです", true],
  ["ユーザーはタブを使わない。", "タブは使わない", true],
  ["ユーザーはタブを使う。", "タブは使わない", false],
];

describe("whether a message supports a text", () => {
  it.each(table)("%s ← %s: %s", (content, message, supported) => {
    expect(supports(content, message)).toBe(supported);
  });

  it("every text that says something supports itself, quoted or asked it does not", () => {
    const sentence = fc.constantFrom(
      "tabs",
      "parser",
      "server",
      "billing",
      "release",
      "Friday",
      "src/app.ts",
      "8080",
      "invoices",
      "branch",
    );
    fc.assert(
      fc.property(fc.array(sentence, { minLength: 2, maxLength: 8 }), (parts) => {
        const text = `${parts.join(" ")}.`;
        expect(supports(text, text)).toBe(true);
        expect(supports(text, `> ${text}`)).toBe(false);
        expect(supports(text, `${text.slice(0, -1)}?`)).toBe(false);
      }),
    );
  });

  it("one number or name that was not said is enough against it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99_999 }), fc.integer({ min: 1, max: 99_999 }), (a, b) => {
        expect(supports(`The port of the billing server is ${String(a)}.`, `the port of the billing server is ${String(b)}`)).toBe(a === b);
      }),
    );
  });

  it("answers for any two texts", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ unit: "binary", maxLength: 300 }), (a, b) => {
        expect(typeof supports(a, b)).toBe("boolean");
        expect(typeof touches(a, b)).toBe("boolean");
      }),
    );
  });
});

describe("whether a message is about what is taken away", () => {
  it.each([
    ["The owner prefers tabs.", "forget what I said about tabs", true],
    ["The service listens on port 8080.", "the 8080 thing is not so any more", true],
    ["The owner prefers tabs.", "forget the mission", false],
    ["The owner prefers tabs.", "do you still know about tabs?", false],
  ])("%s ← %s: %s", (text, message, about) => {
    expect(touches(text, message)).toBe(about);
  });
});
