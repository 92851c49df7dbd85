import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { problemOf } from "../shared/bridge.ts";
import { IconButton } from "../shared/components.tsx";
import { t } from "../shared/l10n.ts";
import { readImage } from "./images.ts";
import { droppedPaths } from "./mentions.ts";
import type { Chat } from "./chat-state.ts";

const maxImages = 5;

/** Attaches images to the next message. Reports an unsupported file above the composer. */
export async function attach(chat: Chat, files: readonly File[]): Promise<void> {
  chat.problem.value = null;
  for (const file of files) {
    if (chat.images.peek().length >= maxImages) {
      chat.problem.value = t("You can attach at most {0} images.", maxImages);
      return;
    }
    try {
      chat.images.value = [...chat.images.peek(), await readImage(file)];
    } catch (error) {
      chat.problem.value = problemOf(error);
    }
  }
}

/** Returns the workspace files among the dropped URIs and reports when it skipped others. */
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
  if (paths.length < uris.length) chat.problem.value = t("You can mention only files of this workspace. Other files were skipped.");
  return paths;
}

/**
 * Handles a drop: attaches images to the message and mentions workspace files.
 * @param mention inserts the mentions of these files.
 */
export function handleDrop(chat: Chat, data: DataTransfer, mention: (paths: readonly string[]) => void): void {
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

/** The images attached to the next message. */
export function AttachedImages({ chat }: { chat: Chat }): JSX.Element | null {
  if (chat.images.value.length === 0) return null;
  return (
    <ul class="attachments" aria-label={t("Attached images")}>
      {chat.images.value.map((image, index) => (
        <li key={index}>
          <img src={`data:${image.mediaType};base64,${image.data}`} alt={t("Image {0}", index + 1)} />
          <IconButton
            testId={`remove-image:${index + 1}`}
            icon="close"
            label={t("Remove Image {0}", index + 1)}
            onClick={() => {
              chat.images.value = chat.images.peek().filter((_, at) => at !== index);
            }}
          />
        </li>
      ))}
    </ul>
  );
}

/** Opens the file picker for images. */
export function ImagePicker({ chat }: { chat: Chat }): JSX.Element {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton testId="attach-image" icon="file-media" label={t("Attach Image")} onClick={() => picker.current?.click()} />
      <input
        ref={picker}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        multiple
        hidden
        aria-label={t("Images")}
        onChange={(event) => {
          void attach(chat, [...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </>
  );
}
