import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { problemOf } from "../shared/bridge.ts";
import { IconButton } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { readImage } from "./images.ts";
import { droppedPaths } from "./mentions.ts";
import type { Chat } from "./state.ts";

const largestImages = 5;

/** Adds pictures to the next message; what cannot be one is told above the composer. */
export async function attach(chat: Chat, files: readonly File[]): Promise<void> {
  chat.problem.value = null;
  for (const file of files) {
    if (chat.images.peek().length >= largestImages) {
      chat.problem.value = t("A message can have at most {0} pictures.", largestImages);
      return;
    }
    try {
      chat.images.value = [...chat.images.peek(), await readImage(file)];
    } catch (error) {
      chat.problem.value = problemOf(error);
    }
  }
}

/** The workspace files among dropped addresses; says so when there are others. */
async function workspaceFiles(chat: Chat, uris: readonly string[]): Promise<string[]> {
  const workspace = chat.store.info.peek()?.workspace ?? "";
  const paths: string[] = [];
  for (const uri of uris) {
    for (const candidate of workspace === "" ? [] : droppedPaths(uri, workspace)) {
      const { items } = await chat.bridge.call("workspace.files", { query: candidate, limit: 20 });
      if (items.includes(candidate)) {
        paths.push(candidate);
        break;
      }
    }
  }
  if (paths.length < uris.length) chat.problem.value = t("Only files of this workspace can be mentioned.");
  return paths;
}

/**
 * Takes what was dropped: pictures join the message, files of the workspace are mentioned.
 * @param mention is given the files to mention.
 */
export function takeDropped(chat: Chat, data: DataTransfer, mention: (paths: readonly string[]) => void): void {
  const uris = (data.getData("application/vnd.code.uri-list") || data.getData("text/uri-list"))
    .split(/\r?\n/)
    .filter((line) => line.startsWith("file:") || line.startsWith("vscode-remote:"));
  const files = [...data.files];
  if (files.some((file) => file.type.startsWith("image/")) || uris.length === 0) {
    if (files.length > 0) void attach(chat, files);
    return;
  }
  workspaceFiles(chat, uris)
    .then((paths) => {
      if (paths.length > 0) mention(paths);
    })
    .catch((error: unknown) => {
      chat.problem.value = problemOf(error);
    });
}

/** The pictures of the next message. */
export function AttachedPictures({ chat }: { chat: Chat }): JSX.Element | null {
  if (chat.images.value.length === 0) return null;
  return (
    <ul class="attachments" aria-label={t("Attached pictures")}>
      {chat.images.value.map((image, index) => (
        <li key={index}>
          <img src={`data:${image.mediaType};base64,${image.data}`} alt={t("Picture {0}", index + 1)} />
          <IconButton
            icon="close"
            label={t("Remove picture {0}", index + 1)}
            onClick={() => {
              chat.images.value = chat.images.peek().filter((_, at) => at !== index);
            }}
          />
        </li>
      ))}
    </ul>
  );
}

/** The button that opens the editor's choice of pictures. */
export function PicturePicker({ chat }: { chat: Chat }): JSX.Element {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon="file-media" label={t("Attach a picture")} onClick={() => picker.current?.click()} />
      <input
        ref={picker}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        multiple
        hidden
        aria-label={t("Pictures")}
        onChange={(event) => {
          void attach(chat, [...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </>
  );
}
