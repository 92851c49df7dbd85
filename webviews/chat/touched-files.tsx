import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ToolPart, TouchedFile } from "../../agent-server/contract/chat.ts";
import { commandAction } from "../shared/commands.ts";
import { Button, State, type StateProps } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./chat-state.ts";

type Touched = NonNullable<ToolPart["touched"]>;

function stateOf({ kind }: TouchedFile): StateProps {
  switch (kind) {
    case "created":
      return { icon: "diff-added", text: t("Created"), kind: "good" };
    case "modified":
      return { icon: "diff-modified", text: t("Changed"), kind: "" };
    case "deleted":
      return { icon: "diff-removed", text: t("Deleted"), kind: "bad" };
  }
}

/** True for a file that does not exist now. */
function isGone({ kind }: TouchedFile, undone: boolean): boolean {
  return kind === "deleted" ? !undone : kind === "created" && undone;
}

function FileRow({
  file,
  checkpointId,
  undone,
  chat,
}: {
  file: TouchedFile;
  checkpointId: string | null;
  undone: boolean;
  chat: Chat;
}): JSX.Element {
  return (
    <li class="touched-file">
      <State {...stateOf(file)} quiet />
      {isGone(file, undone) ? (
        <span class="mono">{file.path}</span>
      ) : (
        <Button kind="link" onClick={() => chat.bridge.ui({ action: "openFile", path: file.path })}>
          {file.path}
        </Button>
      )}
      {file.putBack === true && (
        <span class="attention" data-testid="reverted">
          {t("Reverted automatically: commands may not change this file")}
        </span>
      )}
      {undone && <span class="quiet">{t("Undone")}</span>}
      {!file.undoable && (
        <span class="quiet" data-testid="not-restorable">
          {t("Cannot be undone: its previous content was not saved")}
        </span>
      )}
      {checkpointId !== null && file.undoable && !undone && file.putBack !== true && (
        <Button
          testId={`show-diff:${file.path}`}
          kind="link"
          label={t("Show Diff of {0}", file.path)}
          onClick={() => chat.bridge.ui(commandAction("showTouched", { checkpointId, path: file.path }))}
        >
          {t("Show Diff")}
        </Button>
      )}
    </li>
  );
}

/** The files that a command changed, with the actions keep and undo. */
export function TouchedFiles({ part, touched, chat }: { part: ToolPart; touched: Touched; chat: Chat }): JSX.Element | null {
  const { files, total, checkpointId } = touched;
  const before = { id: checkpointId ?? "" };
  useEffect(() => (checkpointId === null ? undefined : chat.fileComparison.watch(before)), [checkpointId, chat]);
  const differing = checkpointId === null ? null : chat.fileComparison.changedPaths(before).value;
  if (total === 0) return null;
  const undone = (file: TouchedFile): boolean => differing !== null && file.putBack !== true && file.undoable && !differing.has(file.path);
  const own = files.filter((file) => file.undoable && file.putBack !== true);
  const open = own.some((file) => !undone(file));
  const kept = chat.kept.value.includes(part.callId);
  return (
    <section class="change touched" aria-label={t("Files changed by {0}", part.title)}>
      <div class="touched-heading">{count(total, "Changed {0} file", "Changed {0} files")}</div>
      <ul class="touched-list">
        {files.map((file) => (
          <FileRow key={file.path} file={file} checkpointId={checkpointId} undone={undone(file)} chat={chat} />
        ))}
      </ul>
      {total > files.length && <p class="quiet touched-more">{t("and {0} more on the receipt", total - files.length)}</p>}
      {checkpointId !== null && own.length > 0 && (
        <div class="actions">
          {!open ? (
            <State icon="discard" text={t("Undone. The files are restored to their state before the command.")} kind="quiet" />
          ) : (
            <>
              {kept ? (
                <State icon="check" text={t("Kept")} kind="good" />
              ) : (
                <Button
                  testId="keep-changes"
                  kind="primary"
                  icon="check"
                  onClick={() => {
                    chat.kept.value = [...chat.kept.peek(), part.callId];
                  }}
                >
                  {t("Keep")}
                </Button>
              )}
              <Button
                testId="undo-command"
                kind={kept ? "link" : "secondary"}
                icon="discard"
                onClick={() => chat.bridge.ui(commandAction("undoTouched", { checkpointId, title: part.title }))}
              >
                {t("Undo…")}
              </Button>
            </>
          )}
        </div>
      )}
    </section>
  );
}
