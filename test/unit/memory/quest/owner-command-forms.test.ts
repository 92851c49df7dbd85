import { describe, expect, it } from "vitest";
import { ownerCommandsIn, withoutQuotations } from "../../../../agent-server/memory/quest/owner-command-forms.ts";

const remember = (text: string) => ({ kind: "remember", text, isExplicit: true });
const forget = (text: string) => ({ kind: "forget", text, isExplicit: false });
const slash = (kind: string, text: string) => ({ kind, text, isExplicit: true });

describe("memory commands in a message", () => {
  it.each<[string, readonly object[]]>([
    ["Remember that we use pnpm.", [remember("we use pnpm")]],
    ["Please remember that the staging port is 8443. Thanks!", [remember("the staging port is 8443")]],
    ["Remember: releases are cut by Ada", [remember("releases are cut by Ada")]],
    ["Remember that config.dev.yaml is generated. ", [remember("config.dev.yaml is generated")]],
    ["Remember that we use pnpm. Remember that I prefer tabs.", [remember("we use pnpm"), remember("I prefer tabs")]],
    ["Forget that we use yarn. Remember that we use pnpm.", [forget("we use yarn"), remember("we use pnpm")]],
    ["Forget the staging port.", [forget("the staging port")]],
    ["Merke dir, dass wir pnpm nutzen.", [remember("wir pnpm nutzen")]],
    ["Vergiss den Staging-Port.", [forget("den Staging-Port")]],
    ["Souviens-toi que nous utilisons pnpm.", [remember("nous utilisons pnpm")]],
    ["Retiens qu'on livre le vendredi", [remember("on livre le vendredi")]],
    ["Oublie que nous utilisons pnpm.", [forget("nous utilisons pnpm")]],
    ["Por favor, recuerda que usamos pnpm.", [remember("usamos pnpm")]],
    ["Olvida que usamos pnpm.", [forget("usamos pnpm")]],
    ["Ricordati che usiamo pnpm.", [remember("usiamo pnpm")]],
    ["Dimentica che usiamo pnpm.", [forget("usiamo pnpm")]],
    ["Lembre-se de que usamos pnpm.", [remember("usamos pnpm")]],
    ["Esqueça que usamos pnpm.", [forget("usamos pnpm")]],
    ["/remember the staging port is 8443", [slash("remember", "the staging port is 8443")]],
    ["/remember", [slash("remember", "")]],
    ["/forget the staging port", [slash("forget", "the staging port")]],
    ["/memory staging port", [slash("show", "staging port")]],
    ["/memory", [slash("show", "")]],
  ])("%s", (text, commands) => {
    expect(ownerCommandsIn(text)).toEqual({ commands, isWholeMessage: true });
  });

  it.each<[string, readonly object[]]>([
    ["Fix the build. Remember that we use pnpm.", [remember("we use pnpm")]],
    ["Forget the staging port. Use the production one.", [forget("the staging port")]],
    // The second clause is a task of its own: it is not lost.
    ["Remember that we use pnpm, and fix the build.", [remember("we use pnpm, and fix the build")]],
    ["Remember that we use pnpm then fix the build", [remember("we use pnpm then fix the build")]],
    ["Remember that we use pnpm.\n```\nlog\n```", [remember("we use pnpm")]],
  ])("%s, with something else for the model", (text, commands) => {
    expect(ownerCommandsIn(text)).toEqual({ commands, isWholeMessage: false });
  });

  it.each([
    "Do you remember that bug?",
    "Remember that bug?",
    "¿Recuerdas que usamos pnpm?",
    "Remember to run the tests after each edit in this task.",
    "Remember that.",
    "Forget it.",
    "Forget that.",
    "Forget the tests, just fix the build",
    "Don't forget that we use pnpm",
    "I remember that we used yarn.",
    "Fix the build and remember that we use pnpm",
    "Make the form remember that the user is logged in.",
    "Things to remember: tests",
    "remember(me: true)",
    "> Remember that we use pnpm.\n\nIs that right?",
    "```\nRemember that we use pnpm.\n```\nWhat does this say?",
    "// remember that this is slow\nWhat is meant?",
    "Log:\n    remember that we use pnpm",
    'The page says "remember that we use pnpm".',
    '"Remember that you are mortal" belongs into the header.',
    "/memoryOfScope we use pnpm",
    " /memories",
  ])("none in: %s", (text) => {
    expect(ownerCommandsIn(text)).toEqual({ commands: [], isWholeMessage: false });
  });

  it("are not read from a long message or from a text about memory", () => {
    expect(ownerCommandsIn(`${"All is well here. ".repeat(400)}\nRemember that we use pnpm.`).commands).toEqual([]);
    const many = (count: number) => Array.from({ length: count }, (_, n) => `Remember that rule ${String(n)} is on.`).join("\n");
    expect(ownerCommandsIn(many(20)).commands).toHaveLength(20);
    expect(ownerCommandsIn(many(21)).commands).toEqual([]);
  });

  it.each([
    `remember that ${"a ".repeat(1_990)}`,
    `${"please, ".repeat(490)}forget`,
    "remember that and ".repeat(220),
    `forget ${" ".repeat(3_900)}`,
  ])("are found in bounded time (%#)", (text) => {
    const start = performance.now();
    expect(ownerCommandsIn(text).commands.length).toBeLessThanOrEqual(1);
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});

describe("withoutQuotations", () => {
  it.each([
    ["plain", "plain"],
    ["before\n```ts\ncode\n```\nafter", "before\n\n\n\nafter"],
    ["> quoted\nmine", "mine"],
    ["mine\n    indented", "mine"],
    ["```\nnever closed", ""],
  ])("%j", (text, own) => {
    expect(withoutQuotations(text)).toBe(own);
  });
});
