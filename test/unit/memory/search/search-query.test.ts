import { describe, expect, it } from "vitest";
import { parseQuery } from "../../../../agent-server/memory/search/search-query.ts";

const messageOf = (text: string): string[] => parseQuery(text).terms.map(({ word }) => word);

describe("reading a query", () => {
  it.each<[string, string[]]>([
    ["which port does staging use?", ["port", "staging"]],
    ["auf welchem Port läuft der Server?", ["port", "lauft", "server"]],
    ["quel est le port du serveur ?", ["port", "serveur"]],
    ["¿Cuál es el puerto del servidor?", ["puerto", "servidor"]],
    ["какой порт у сервера", ["порт", "сервера"]],
    ["the", ["the"]],
    ["what is it", ["what", "is", "it"]],
    ["getUserById", ["user", "id"]],
    ["port OR NOT", ["port"]],
    ["rm -rf dist", ["rm", "rf", "dist"]],
    ["port port PORT", ["port"]],
  ])("%j asks for %j", (text, expected) => {
    expect(messageOf(text)).toEqual(expected);
  });

  it.each<[string, string[][], string[][]]>([
    ['"staging server" port', [["stage", "server"]], []],
    ["„Staging-Server“ port", [["stage", "server"]], []],
    ["port -staging", [], [["stage"]]],
    ["port NOT staging", [], [["stage"]]],
    ['port -"staging server"', [], [["stage", "server"]]],
    ["端口 -测试", [], [["测试"]]],
    ["-staging", [], []],
    ['"unclosed port', [], []],
    ["please run the tests of the web package with npm run test -workspace=web and tell", [], []],
  ])("%j: phrases %j, excluded %j", (text, phrases, excluded) => {
    expect(parseQuery(text)).toMatchObject({ phrases, excluded });
  });

  it("takes the last word for a beginning while it is typed", () => {
    expect(parseQuery("mail kube").terms.map(({ open }) => open)).toEqual([false, true]);
    expect(parseQuery("kube* mail ").terms.map(({ open }) => open)).toEqual([true, false]);
    expect(parseQuery("which kube?").terms.map(({ open }) => open)).toEqual([false]);
  });

  it("reads the sentences of a long text apart", () => {
    const { terms } = parseQuery("Fix the broken cart total in checkout. Then run all unit tests, and update changelog.");
    const sentences = Object.fromEntries(terms.map((term) => [term.word, term.sentences]));
    expect(sentences["cart"]).toEqual([0]);
    expect(sentences["tests"]).toEqual([1]);
    expect(sentences["changelog"]).toEqual([2]);
  });
});
