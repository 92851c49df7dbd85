import * as vscode from "vscode";
import { normalized, replacement, withLineEnds, withoutMark } from "./text.ts";

/** How long (ms) a document may take to notice that its file changed on disk; a busy machine's watcher needed more than three seconds. */
const reloadTimeoutMs = 10_000;

interface Applied {
  applied: boolean;
  saved: boolean;
}
const refused: Applied = { applied: false, saved: false };

/**
 * Makes `uri` hold `text`, through a WorkspaceEdit, so that undo works and other extensions see it. Refuses when the file
 * is not `expected` any more (null: it does not exist). `text: null` deletes it. A document without unsaved edits is saved.
 */
export async function applyText(uri: vscode.Uri, expected: string | null, text: string | null): Promise<Applied> {
  if (expected === null) return text === null ? refused : create(uri, text);
  const document = await open(uri);
  if (document === null || !(await settles(document, expected))) return refused;
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
  return { applied: true, saved: wasDirty ? false : await document.save() };
}

async function create(uri: vscode.Uri, text: string): Promise<Applied> {
  if (await exists(uri)) return refused;
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(uri, { overwrite: false, ignoreIfExists: false, contents: new TextEncoder().encode(text) });
  const applied = await vscode.workspace.applyEdit(edit);
  return { applied, saved: applied };
}

async function remove(document: vscode.TextDocument): Promise<Applied> {
  // Unsaved edits would be lost with the file.
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
 * True once the document holds `expected`. One without unsaved edits may be behind its file for a moment, as the editor
 * learns of writes by others from a watcher.
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
