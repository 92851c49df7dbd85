import * as vscode from "vscode";
import { normalized, replacement, withLineEnds, withoutMark } from "./text.ts";

/** How long (ms) to wait until a document picks up its file's change on disk. A busy machine's watcher needed over three seconds. */
const reloadTimeoutMs = 10_000;

/**
 * How long (ms) to wait after another program's write: VS Code may have read the text before the modification time,
 * and would then refuse to save.
 */
const settleMs = 1_000;
/** Modification time (ms since 1970) of this window's last save, by URI. */
const ownSaves = new Map<string, number>();

interface Applied {
  applied: boolean;
  saved: boolean;
}
const refused: Applied = { applied: false, saved: false };

/**
 * Replaces the text of `uri` through a WorkspaceEdit, so that undo works and other extensions see it. Refuses when the file
 * no longer holds `expected` (null: it does not exist). `text: null` deletes it. Saves a document that had no unsaved edits.
 */
export async function applyText(uri: vscode.Uri, expected: string | null, text: string | null): Promise<Applied> {
  if (expected === null) return text === null ? refused : create(uri, text);
  const document = await open(uri);
  if (document === null) return refused;
  if (!document.isDirty) await waitUntilSettled(uri);
  if (!(await settles(document, expected))) return refused;
  if (text === null) return remove(document);

  const wasDirty = document.isDirty;
  const before = document.getText();
  const eol = document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n";
  const change = replacement(before, withLineEnds(text, eol));
  if (change.start !== change.end || change.text !== "") {
    const edit = new vscode.WorkspaceEdit();
    edit.replace(uri, new vscode.Range(document.positionAt(change.start), document.positionAt(change.end)), change.text);
    if (!(await vscode.workspace.applyEdit(edit))) return refused;
  }
  if (wasDirty) return { applied: true, saved: false };
  const saved = await document.save();
  if (saved) await noteOwnSave(uri);
  return { applied: true, saved };
}

async function noteOwnSave(uri: vscode.Uri): Promise<void> {
  const written = await timeOf(uri);
  if (ownSaves.size > 1_000) ownSaves.clear();
  if (written !== null) ownSaves.set(uri.toString(), written);
}

async function timeOf(uri: vscode.Uri): Promise<number | null> {
  return vscode.workspace.fs.stat(uri).then(
    ({ mtime }) => mtime,
    () => null,
  );
}

/** Waits until another program's last write is `settleMs` old. */
async function waitUntilSettled(uri: vscode.Uri): Promise<void> {
  const written = await timeOf(uri);
  if (written === null || ownSaves.get(uri.toString()) === written) return;
  const rest = written + settleMs - Date.now();
  if (rest > 0 && rest <= settleMs) await new Promise((resolve) => setTimeout(resolve, rest));
}

async function create(uri: vscode.Uri, text: string): Promise<Applied> {
  if (await exists(uri)) return refused;
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(uri, { overwrite: false, ignoreIfExists: false, contents: new TextEncoder().encode(text) });
  const applied = await vscode.workspace.applyEdit(edit);
  return { applied, saved: applied };
}

async function remove(document: vscode.TextDocument): Promise<Applied> {
  // Deleting the file would lose unsaved edits.
  if (document.isDirty) return refused;
  const edit = new vscode.WorkspaceEdit();
  edit.deleteFile(document.uri, { recursive: false, ignoreIfNotExists: false });
  const applied = await vscode.workspace.applyEdit(edit);
  return { applied, saved: applied };
}

async function open(uri: vscode.Uri): Promise<vscode.TextDocument | null> {
  if (!(await exists(uri))) return null;
  return vscode.workspace.openTextDocument(uri);
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
}

/**
 * True when the document holds `expected`. A document without unsaved edits can lag behind its file, because VS Code
 * learns of other programs' writes from a watcher.
 */
async function settles(document: vscode.TextDocument, expected: string): Promise<boolean> {
  const wanted = normalized(expected);
  const holds = () => normalized(document.getText()) === wanted;
  if (holds()) return true;
  if (document.isDirty) return false;
  const onDisk = await vscode.workspace.decode(await vscode.workspace.fs.readFile(document.uri), { uri: document.uri });
  if (normalized(withoutMark(onDisk)) !== wanted) return false;
  return new Promise((resolve) => {
    const finish = (result: boolean) => {
      clearTimeout(timer);
      listener.dispose();
      resolve(result);
    };
    const listener = vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document === document && holds()) finish(true);
    });
    const timer = setTimeout(() => finish(holds()), reloadTimeoutMs);
    if (holds()) finish(true);
  });
}
