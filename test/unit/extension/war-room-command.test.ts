import { expect, it, vi } from "vitest";
import { warRoomCommands } from "../../../extension/commands/war-room.ts";
import type { AgentHost } from "../../../extension/host/agent-host-types.ts";
import type { WarRoom } from "../../../extension/views/war-room.ts";

vi.mock("vscode", () => ({}));

it.each([
  [undefined, undefined],
  ["receipt-1", { tab: "receipts", receiptId: "receipt-1" }],
  [{ receiptId: "receipt-1" }, { tab: "receipts", receiptId: "receipt-1" }],
  [{ tab: "usage" }, { tab: "usage" }],
  [
    { questId: "quest-1", id: "section:m:0:0" },
    { tab: "artifacts", artifact: { questId: "quest-1", id: "section:m:0:0" } },
  ],
  [{ questId: "quest-1" }, undefined],
])("lancelot.openWarRoom %j opens %j", async (argument, shown) => {
  const opened: unknown[] = [];
  const warRoom: WarRoom = { open: (what) => void opened.push(what), dispose: () => undefined };
  await warRoomCommands({} as AgentHost, warRoom)["lancelot.openWarRoom"]?.(argument);
  expect(opened).toEqual([shown]);
});
