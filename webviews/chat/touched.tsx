import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ToolPart, TouchedFile } from "../../agent-server/contract/chat.ts";
import { commandAction } from "../shared/commands.ts";
import { Button, State } from "../shared/components.tsx";
import { count, t } from "../shared/l10n.ts";
import type { Chat } from "./state.ts";

type Touched = NonNullable<ToolPart["touched"]>;

function lookOf({ kind }: TouchedFile): { icon: string; text: string; kind: string } {
  switch (kind) {
    case "created":
      return { icon: "diff-added", text: t("created"), kind: "good" };
    case "modified":
      return { icon: "diff-modified", text: t("changed"), kind: "" };
    case "deleted":
      return { icon: "diff-removed", text: t("deleted"), kind: "bad" };
  }
}

/** True for a file that is not there now. */
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
      <State {...lookOf(file)} quiet />
      {isGone(file, undone) ? (
        <span class="mono">{file.path}</span>
      ) : (
        <Button kind="link" onClick={() => chat.bridge.ui({ action: "openFile", path: file.path })}>
          {file.path}
        </Button>
      )}
      {file.putBack === true && <span class="attention">{t("put back at once: no command may change it")}</span>}
      {undone && <span class="quiet">{t("undone")}</span>}
      {!file.undoable && <span class="quiet">{t("cannot be undone: what it held could not be kept")}</span>}
      {checkpointId !== null && file.undoable && !undone && file.putBack !== true && (
        <Button
          kind="link"
          label={t("Show the difference of {0}", file.path)}
          onClick={() => chat.bridge.ui(commandAction("showTouched", { checkpointId, path: file.path }))}
        >
          {t("Difference")}
        </Button>
      )}
    </li>
  );
}

/** Files that a command was found to have changed: to keep, or to put back. */
export function TouchedFiles({ part, touched, chat }: { part: ToolPart; touched: Touched; chat: Chat }): JSX.Element | null {
  const { files, total, checkpointId } = touched;
  const before = { id: checkpointId ?? "" };
  useEffect(() => (checkpointId === null ? undefined : chat.differing.watch(before)), [checkpointId, chat]);
  const differing = checkpointId === null ? null : chat.differing.of(before).value;
  if (total === 0) return null;
  const undone = (file: TouchedFile): boolean => differing !== null && file.putBack !== true && file.undoable && !differing.has(file.path);
  const own = files.filter((file) => file.undoable && file.putBack !== true);
  const open = own.some((file) => !undone(file));
  const kept = chat.kept.value.includes(part.callId);
  return (
    <section class="change touched" aria-label={t("Files changed by {0}", part.title)}>
      <div class="touched-heading">{count(total, "It changed {0} file", "It changed {0} files")}</div>
      <ul class="touched-list">
        {files.map((file) => (
          <FileRow key={file.path} file={file} checkpointId={checkpointId} undone={undone(file)} chat={chat} />
        ))}
      </ul>
      {total > files.length && <p class="quiet touched-more">{t("and {0} more, on the receipt", total - files.length)}</p>}
      {checkpointId !== null && own.length > 0 && (
        <div class="actions">
          {!open ? (
            <State icon="discard" text={t("Undone: these files are as they were before the command")} kind="quiet" />
          ) : (
            <>
              {kept ? (
                <State icon="check" text={t("Kept")} kind="good" />
              ) : (
                <Button
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
