// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { actionIn, matchingCommands } from "../../../webviews/chat/slash-commands.ts";
import { composerAction, type ComposerKey } from "../../../webviews/chat/composer-keys.ts";
import { imageProblem, maxImageBytes } from "../../../webviews/chat/images.ts";
import { complete, droppedPaths, insertMentions, mentioned, triggerAt } from "../../../webviews/chat/mentions.ts";
import { fileNameOf } from "../../../webviews/chat/quests.tsx";
import { earlierCount, isAtEnd } from "../../../webviews/chat/message-window.ts";
import { decisionForKey, ignoreKeysMs } from "../../../webviews/shared/approval-keys.ts";
import { rowForKey } from "../../../webviews/shared/virtual-list.tsx";
import { tabForKey } from "../../../webviews/war-room/war-room-app.tsx";

function press(key: string, patch: Partial<ComposerKey> = {}): ComposerKey {
  return {
    key,
    shift: false,
    modified: false,
    command: false,
    asked: false,
    composing: false,
    popup: false,
    empty: false,
    fromHistory: false,
    running: false,
    editing: false,
    ...patch,
  };
}

describe("keys of the composer", () => {
  it.each([
    ["Enter sends", press("Enter"), "send"],
    ["Shift+Enter makes a line", press("Enter", { shift: true }), null],
    ["Ctrl+Enter is left alone", press("Enter", { modified: true }), null],
    ["Ctrl+Enter allows once from an empty field", press("Enter", { modified: true, command: true, asked: true, empty: true }), "approve"],
    ["Ctrl+Enter allows nothing while there is a text", press("Enter", { modified: true, command: true, asked: true }), null],
    ["Alt+Enter allows nothing", press("Enter", { modified: true, asked: true, empty: true }), null],
    ["Enter sends also while an approval waits", press("Enter", { asked: true }), "send"],
    ["Ctrl+Backspace denies from an empty field", press("Backspace", { modified: true, command: true, asked: true, empty: true }), "deny"],
    ["Ctrl+Backspace deletes a word of a text", press("Backspace", { modified: true, command: true, asked: true }), null],
    ["Backspace denies nothing", press("Backspace", { asked: true, empty: true }), null],
    ["Enter of an input method only ends its word", press("Enter", { composing: true }), null],
    ["Esc of an input method stops nothing", press("Escape", { composing: true, running: true }), null],
    ["Ctrl+. goes to the next mode", press(".", { modified: true, command: true }), "nextMode"],
    ["a period is a period", press("."), null],
    ["Esc stops a running task", press("Escape", { running: true }), "stop"],
    ["Esc does nothing more when nothing runs", press("Escape"), null],
    ["Esc leaves editing before it stops anything", press("Escape", { running: true, editing: true }), "cancelEdit"],
    ["Up in an empty field recalls", press("ArrowUp", { empty: true }), "historyBack"],
    ["Up in a text moves the caret", press("ArrowUp"), null],
    ["Up goes on through recalled texts", press("ArrowUp", { fromHistory: true }), "historyBack"],
    ["Down comes back through recalled texts", press("ArrowDown", { fromHistory: true }), "historyForward"],
    ["Down in a text moves the caret", press("ArrowDown"), null],
    ["Shift+Up selects", press("ArrowUp", { empty: true, shift: true }), null],
    ["Enter takes what the list offers", press("Enter", { popup: true }), "popupAccept"],
    ["Tab takes what the list offers", press("Tab", { popup: true }), "popupAccept"],
    ["Shift+Enter makes a line also over a list", press("Enter", { popup: true, shift: true }), null],
    ["Esc closes the list before it stops anything", press("Escape", { popup: true, running: true }), "popupClose"],
    ["Down moves in the list", press("ArrowDown", { popup: true }), "popupNext"],
    ["Up moves in the list", press("ArrowUp", { popup: true, empty: true }), "popupPrevious"],
    ["Tab without a list moves on", press("Tab"), null],
    ["letters are letters", press("a", { running: true }), null],
  ])("%s", (_, key, action) => {
    expect(composerAction(key)).toBe(action);
  });
});

describe("keys of an approval card", () => {
  const calm = { modified: false, repeat: false, inField: false, msSinceShown: ignoreKeysMs };
  it.each([
    ["a", calm, "allow_once"],
    ["A", calm, "allow_once"],
    ["t", calm, "allow_quest"],
    ["w", calm, "allow_workspace"],
    ["d", calm, "deny"],
    ["Enter", calm, null],
    [" ", calm, null],
    ["Escape", calm, null],
    ["y", calm, null],
    ["a", { ...calm, msSinceShown: ignoreKeysMs - 1 }, null],
    ["a", { ...calm, repeat: true }, null],
    ["a", { ...calm, modified: true }, null],
    ["a", { ...calm, inField: true }, null],
    ["d", { ...calm, inField: true }, null],
  ])("%j %j", (key, state, decision) => {
    expect(decisionForKey({ key, ...state })).toBe(decision);
  });
});

describe("words that a list completes", () => {
  it.each([
    ["@", 1, { kind: "mention", start: 0, query: "" }],
    ["see @src/a", 10, { kind: "mention", start: 4, query: "src/a" }],
    ["(@a", 3, { kind: "mention", start: 1, query: "a" }],
    ["mail me@home", 12, null],
    ["@a b", 4, null],
    ["@abc", 2, { kind: "mention", start: 0, query: "a" }],
    ["/", 1, { kind: "command", start: 0, query: "" }],
    ["/fi", 3, { kind: "command", start: 0, query: "fi" }],
    ["/fix it", 7, null],
    ["a /fix", 6, null],
    ["src/fix", 7, null],
  ])("%j at %i", (text, caret, trigger) => {
    expect(triggerAt(text, caret)).toEqual(trigger);
  });

  it.each([
    ["see @to", 4, 7, "@src/total.ts", "see @src/total.ts ", 18],
    ["see @to there", 4, 7, "@a.ts", "see @a.ts there", 10],
    ["/fi", 0, 3, "/fix", "/fix ", 5],
  ])("%j completes", (text, start, caret, replacement, after, at) => {
    expect(complete(text, start, caret, replacement)).toEqual({ text: after, caret: at });
  });

  it("puts dropped files between the words", () => {
    expect(insertMentions("ab", 2, ["x.ts", "y z.ts"])).toEqual({ text: "ab @x.ts @y z.ts ", caret: 17 });
    expect(insertMentions("ab cd", 3, ["x.ts"])).toEqual({ text: "ab @x.ts cd", caret: 9 });
  });

  it("sends the chosen files that the text still names", () => {
    expect(mentioned("see @a.ts, @b c.ts and @d.tsx", ["a.ts", "b c.ts", "d.ts", "gone.ts", "a.ts"])).toEqual(["a.ts", "b c.ts"]);
  });

  it.each([
    ["file:///home/me/shop/src/a.ts", ["src/a.ts"]],
    ["file:///c%3A/work/shop/src/a%20b.ts", ["src/a b.ts"]],
    ["vscode-remote://ssh-remote%2Bbox/srv/shop/a.ts", ["a.ts"]],
    ["file:///shop/shop/a.ts", ["shop/a.ts", "a.ts"]],
    ["file:///elsewhere/a.ts", []],
    ["file:///home/shopping/a.ts", []],
    ["not an address", []],
  ])("%s may be %j", (uri, paths) => {
    expect(droppedPaths(uri, "shop")).toEqual(paths);
  });
});

describe("slash commands", () => {
  it.each([
    ["/new", "new"],
    ["/undo ", "undo"],
    ["/model", "model"],
    ["/receipts", "receipts"],
    ["/fix", null],
    ["/new thing", null],
    ["/unknown", null],
    ["new", null],
  ])("%j", (text, action) => {
    expect(actionIn(text)).toBe(action);
  });

  it("are found by their beginning", () => {
    expect(matchingCommands("re").map(({ name }) => name)).toEqual(["review", "remember", "receipts"]);
    expect(matchingCommands("").length).toBe(18);
    expect(matchingCommands("zz")).toEqual([]);
  });
});

describe("images", () => {
  it.each([
    ["a.png", "image/png", 10, true],
    ["a.webp", "image/webp", maxImageBytes, true],
    ["a.svg", "image/svg+xml", 10, false],
    ["a.pdf", "application/pdf", 10, false],
    ["a.png", "image/png", maxImageBytes + 1, false],
    ["a.png", "image/png", 0, false],
  ])("%s %s of %i bytes", (name, type, size, accepted) => {
    const problem = imageProblem({ name, type, size });
    if (accepted) expect(problem).toBeNull();
    else expect(problem).toContain(name);
  });
});

describe("lists", () => {
  it.each([
    ["ArrowDown", 3, 4],
    ["ArrowDown", 99, 99],
    ["ArrowDown", -1, 0],
    ["ArrowUp", 0, 0],
    ["PageDown", 3, 13],
    ["PageDown", 95, 99],
    ["PageUp", 3, 0],
    ["Home", 50, 0],
    ["End", 50, 99],
    ["a", 50, undefined],
  ])("%s from row %i", (key, active, next) => {
    expect(rowForKey(key, active, 100, 10)).toBe(next);
  });

  it("move nowhere when empty", () => {
    expect(rowForKey("End", -1, 0, 10)).toBeUndefined();
  });

  it.each([
    ["ArrowRight", 1, 0],
    ["ArrowLeft", 0, 1],
    ["Home", 1, 0],
    ["End", 0, 1],
    ["Tab", 0, undefined],
  ])("tabs: %s from %i", (key, index, next) => {
    expect(tabForKey(key, index, 2)).toBe(next);
  });

  it("hold back what is long past", () => {
    expect(earlierCount(100, 40)).toBe(60);
    expect(earlierCount(10, 40)).toBe(0);
  });

  it.each([
    [968, true],
    [940, true],
    [900, false],
  ])("follow only at the end (%i)", (scrollTop, end) => {
    expect(isAtEnd({ scrollTop, scrollHeight: 1000, clientHeight: 32 })).toBe(end);
  });
});

it.each([
  ["Fix the failing: invoice/test", "Fix-the-failing-invoice-test"],
  ["../../etc", "etc"],
  ["???", "task"],
  ["Größe ändern", "Größe-ändern"],
])("%j is saved as %s", (title, name) => {
  expect(fileNameOf(title)).toBe(name);
});
