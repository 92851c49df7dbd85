import { beforeEach, describe, expect, it, vi } from "vitest";
import { editorRequests } from "../../../agent-server/contract/editor.ts";
import { readOpenEditors } from "../../../extension/editor/open-editors.ts";

interface Position {
  line: number;
  character: number;
}

// The editor, as far as this request uses it.
const editor = vi.hoisted(() => ({
  active: undefined as unknown,
  visible: [] as unknown[],
  tabs: [] as { input: unknown }[],
}));
vi.mock("vscode", () => {
  class TabInputText {
    readonly uri: unknown;
    constructor(uri: unknown) {
      this.uri = uri;
    }
  }
  return {
    TabInputText,
    l10n: { t: (text: string) => text },
    workspace: { workspaceFolders: [{ uri: { scheme: "file", path: "/project" } }] },
    window: {
      get activeTextEditor() {
        return editor.active;
      },
      get visibleTextEditors() {
        return editor.visible;
      },
      get tabGroups() {
        return { all: [{ tabs: editor.tabs.slice(0, 2) }, { tabs: editor.tabs.slice(2) }] };
      },
    },
  };
});

const { TabInputText } = (await import("vscode")) as unknown as { TabInputText: new (uri: unknown) => unknown };
const uri = (path: string, scheme = "file") => ({ scheme, path });
const tab = (path: string, scheme?: string) => ({ input: new TabInputText(uri(path, scheme)) });

/** A text editor with this text and selection. */
function show(path: string, text = "", start: Position = { line: 0, character: 0 }, end = start, scheme?: string) {
  const lines = text.split("\n");
  const offsetAt = ({ line, character }: Position): number =>
    lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + character;
  return {
    selection: { start, end },
    document: {
      uri: uri(path, scheme),
      offsetAt,
      getText: (range: { start: Position; end: Position }) => text.slice(offsetAt(range.start), offsetAt(range.end)),
    },
  };
}

/** What the host receives, which parses it by the contract. */
const read = () => editorRequests.openEditors.result.parse(readOpenEditors());

beforeEach(() => {
  editor.active = undefined;
  editor.visible = [];
  editor.tabs = [];
});

describe("the open editors of the window", () => {
  it("are none in an empty window", () => {
    expect(read()).toEqual({ editors: [], more: 0, selection: null });
  });

  it("are the active one, then the visible ones, then the other tabs, each once and only of the workspace", () => {
    const active = show("/project/src/b.ts");
    editor.active = active;
    editor.visible = [show("/project/src/a.ts"), active, show("/elsewhere/x.ts"), show("/project/out", "", undefined, undefined, "output")];
    editor.tabs = [
      tab("/project/src/c.ts"),
      tab("/project/src/a.ts"),
      { input: undefined },
      tab("/project/d.ts", "git"),
      tab("/etc/hosts"),
    ];
    expect(read().editors).toEqual([
      { path: "src/b.ts", active: true, visible: true },
      { path: "src/a.ts", active: false, visible: true },
      { path: "src/c.ts", active: false, visible: false },
    ]);
  });

  it("are at most twenty, and the others are counted", () => {
    editor.tabs = Array.from({ length: 25 }, (_, index) => tab(`/project/${String(index)}.ts`));
    const { editors, more } = read();
    expect([editors.length, more]).toEqual([20, 5]);
  });

  it.each([
    ["a cursor", { line: 1, character: 2 }, { line: 1, character: 2 }, { startLine: 2, endLine: 2, text: null }],
    ["a word", { line: 1, character: 0 }, { line: 1, character: 3 }, { startLine: 2, endLine: 2, text: "two" }],
    ["whole lines", { line: 0, character: 0 }, { line: 2, character: 0 }, { startLine: 1, endLine: 2, text: "one\ntwo\n" }],
    ["several lines", { line: 0, character: 1 }, { line: 2, character: 1 }, { startLine: 1, endLine: 3, text: "ne\ntwo\nt" }],
  ])("have a selection: %s", (_what, start, end, expected) => {
    editor.active = show("/project/a.ts", "one\ntwo\nthree", start, end);
    expect(read().selection).toEqual({ path: "a.ts", ...expected });
  });

  it("send no selected text above the limit, and none of files outside the workspace", () => {
    const at = { line: 0, character: 0 };
    const text = "x".repeat(3_000);
    editor.active = show("/project/a.ts", text, at, { line: 0, character: 2_000 });
    expect(read().selection?.text).toHaveLength(2_000);
    editor.active = show("/project/a.ts", text, at, { line: 0, character: 2_001 });
    expect(read().selection).toEqual({ path: "a.ts", startLine: 1, endLine: 1, text: null });
    editor.active = show("/elsewhere/a.ts", text, at, { line: 0, character: 5 });
    expect(read()).toEqual({ editors: [], more: 0, selection: null });
  });
});
