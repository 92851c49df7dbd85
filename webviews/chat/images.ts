import type { Attachment } from "../../agent-server/contract/chat.ts";
import { formatBytes, t } from "../shared/l10n.ts";

export type ImageAttachment = Extract<Attachment, { type: "image" }>;

const mediaTypes: readonly ImageAttachment["mediaType"][] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
export const maxImageBytes = 10 * 1024 * 1024;

function mediaTypeOf(type: string): ImageAttachment["mediaType"] | undefined {
  return mediaTypes.find((known) => known === type);
}

/** Returns the reason why a file cannot be attached as an image, or null. */
export function imageProblem(file: { name: string; type: string; size: number }): string | null {
  const name = file.name === "" ? t("The image") : file.name;
  if (mediaTypeOf(file.type) === undefined) return t("{0} is not a supported image. Use PNG, JPEG, GIF or WebP.", name);
  if (file.size > maxImageBytes) {
    return t("{0} is {1}. The limit is {2} per image.", name, formatBytes(file.size), formatBytes(maxImageBytes));
  }
  return file.size === 0 ? t("{0} is empty.", name) : null;
}

/**
 * Reads an image for sending.
 * @throws Error with a message for the user when the file has another type, is too large or cannot be read.
 */
export function readImage(file: File): Promise<ImageAttachment> {
  return new Promise((resolve, reject) => {
    const problem = imageProblem(file);
    const mediaType = mediaTypeOf(file.type);
    if (problem !== null || mediaType === undefined) {
      reject(new Error(problem ?? t("{0} cannot be read. Try another file.", file.name)));
      return;
    }
    const reader = new FileReader();
    reader.addEventListener("error", () => reject(new Error(t("{0} cannot be read. Try another file.", file.name))));
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve({ type: "image", mediaType, data: url.slice(url.indexOf(",") + 1) });
    });
    reader.readAsDataURL(file);
  });
}
