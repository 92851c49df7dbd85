import type { Change } from "../../../agent-server/contract/changes.ts";
import type { Message, ToolPart } from "../../../agent-server/contract/chat.ts";
import { readTestReport } from "../../../agent-server/workspace/workspace.ts";
import { recordedOf, type Recorded, type Restored } from "../../../agent-server/plans/claims/evidence.ts";

/** What was really done in a task before its answer. */
export type World =
  | "nothing"
  | "read"
  | "edited"
  | "deleted"
  | "tested"
  | "failing"
  | "edited-after-tests"
  | "documented-after-tests"
  | "built"
  | "rejected"
  | "denied"
  | "undone"
  | "committed"
  | "pushed"
  | "deployed"
  | "fetched";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
let serial = 0;

function call(tool: string, args: Record<string, unknown>, more: Partial<ToolPart> = {}): ToolPart {
  serial += 1;
  const id = `c${String(serial)}`;
  return {
    ...{ type: "tool", callId: id, tool, args, title: `${tool} ${JSON.stringify(args)}`, status: "success", tier: "T0", verdict: "allow" },
    ...{ rules: [], output: "ok", durationMs: 1, receiptId: `r${id}`, approvalId: null, changeId: null, ...more },
  };
}

const read = (path: string) => call("read_file", { path }, { output: `1: text of ${path}` });
const edit = (path: string, more: Partial<ToolPart> = {}) =>
  call("edit_file", { path }, { tier: "T1", changeId: `change-${path}`, ...more });

function command(text: string, exitCode: number, output: string): ToolPart {
  const run = { text, cwd: ".", place: null, network: false, exitCode, ended: "exit" as const };
  return call("run_command", { command: text }, { tier: "T2", status: exitCode === 0 ? "success" : "failure", output, command: run });
}

function change(path: string, status: Change["status"], kind: Change["kind"] = "modify"): Change {
  return {
    id: `change-${path}`,
    questId: "q",
    path,
    kind,
    status,
    hunks: [],
    createdAt: at(2),
    updatedAt: at(3),
    receiptId: null,
    problem: null,
  };
}

const edits = (): ToolPart[] => [read("src/cart.ts"), edit("src/cart.ts"), edit("README.md")];
const proposed: Change[] = [change("src/cart.ts", "pending"), change("README.md", "accepted")];
const passing = "\n Test Files  3 passed (3)\n      Tests  42 passed (42)\n   Duration  1.2s\n";
const failing = "\n Test Files  1 failed | 2 passed (3)\n      Tests  2 failed | 40 passed (42)\n   Duration  1.2s\n";

const worlds: Record<World, () => { parts: ToolPart[]; changes?: Change[]; restores?: Restored[] }> = {
  nothing: () => ({ parts: [] }),
  read: () => ({ parts: [read("src/cart.ts"), read("README.md")] }),
  edited: () => ({ parts: edits(), changes: proposed }),
  deleted: () => ({
    parts: [call("delete_file", { path: "src/old.ts" }, { tier: "T3", changeId: "change-src/old.ts" })],
    changes: [change("src/old.ts", "accepted", "delete")],
  }),
  tested: () => ({ parts: [...edits(), command("npm test", 0, passing)], changes: proposed }),
  failing: () => ({ parts: [...edits(), command("npm test", 1, failing)], changes: proposed }),
  "edited-after-tests": () => ({
    parts: [...edits(), command("npm test", 0, passing), edit("src/cart.ts")],
    changes: proposed,
  }),
  "documented-after-tests": () => ({
    parts: [edit("src/cart.ts"), command("npm test", 0, passing), edit("README.md")],
    changes: proposed,
  }),
  built: () => ({ parts: [command("npm install", 0, "added 12 packages"), command("npm run build", 0, "built in 2 s")] }),
  rejected: () => ({ parts: edits(), changes: [change("src/cart.ts", "rejected"), change("README.md", "rejected")] }),
  denied: () => ({
    parts: [edit("src/cart.ts", { status: "denied", changeId: null }), edit("README.md", { status: "denied", changeId: null })],
  }),
  undone: () => ({
    parts: edits(),
    changes: [change("src/cart.ts", "accepted"), change("README.md", "accepted")],
    restores: [{ paths: ["src/cart.ts", "README.md"], at: at(9) }],
  }),
  committed: () => ({ parts: [...edits(), call("git_commit", { message: "Fix" }, { tier: "T2" })], changes: proposed }),
  pushed: () => ({
    parts: [...edits(), call("git_commit", { message: "Fix" }, { tier: "T2" }), call("git_push", {}, { tier: "T3" })],
    changes: proposed,
  }),
  deployed: () => ({ parts: [...edits(), call("deploy", { action: "deploy", target: "site" }, { tier: "T3" })], changes: proposed }),
  fetched: () => ({ parts: [call("fetch_url", { url: "https://docs.example.org/api" }, { tier: "T2", output: "The API." })] }),
};

/** What is recorded in a world. */
export function recordedIn(world: World): Recorded {
  const { parts, changes = [], restores = [] } = worlds[world]();
  const message = (role: Message["role"], seq: number, own: Message["parts"]): Message => ({
    ...{ id: `m${String(seq)}`, questId: "q", seq, role, parts: own, createdAt: at(seq), open: false },
  });
  const messages = [message("user", 0, [{ type: "text", text: "Please do it." }]), message("assistant", 1, parts)];
  return recordedOf(
    { messages, changes },
    { readReport: readTestReport, runsTests: (text) => /\btest\b|vitest|pytest/.test(text), restores },
  );
}
