import { expect, test } from "vitest";
import { isAnnounced } from "../../../extension/commands/approval-channels.ts";

test.each([
  [["war_room", "chat", "notification"], false, true],
  [["notification"], true, false],
  [["war_room", "chat", "terminal"], false, false],
  [[], false, false],
])("asked by %j while the chat is in sight: %s → a notification: %s", (channels, visible, announced) => {
  expect(isAnnounced({ channels }, visible)).toBe(announced);
});
