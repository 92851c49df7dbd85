import type { Attachment } from "../../agent-server/contract/chat.ts";
import { formatBytes, t } from "../shared/l10n.ts";

export type ImageAttachment = Extract<Attachment, { type: "image" }>;

const mediaTypes: readonly ImageAttachment["mediaType"][] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
export const largestImageBytes = 10 * 1024 * 1024;

function mediaTypeOf(type: string): ImageAttachment["mediaType"] | undefined {
  return mediaTypes.find((known) => known === type);
}

/** Why a file cannot be attached as a picture; null when it can. */
export function imageProblem(file: { name: string; type: string; size: number }): string | null {
  const name = file.name === "" ? t("The picture") : file.name;
  if (mediaTypeOf(file.type) === undefined) return t("{0} is not a PNG, JPEG, GIF or WebP picture.", name);
  if (file.size > largestImageBytes) {
    return t("{0} is {1}; a picture can have at most {2}.", name, formatBytes(file.size), formatBytes(largestImageBytes));
  }
  return file.size === 0 ? t("{0} is empty.", name) : null;
}

/**
 * Reads a picture for sending.
 * @throws Error with words for the owner when it is of another type, too large or cannot be read.
 */
export function readImage(file: File): Promise<ImageAttachment> {
  return new Promise((resolve, reject) => {
    const problem = imageProblem(file);
    const mediaType = mediaTypeOf(file.type);
    if (problem !== null || mediaType === undefined) {
      reject(new Error(problem ?? t("{0} cannot be read.", file.name)));
      return;
    }
    const reader = new FileReader();
    reader.addEventListener("error", () => reject(new Error(t("{0} cannot be read.", file.name))));
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve({ type: "image", mediaType, data: url.slice(url.indexOf(",") + 1) });
    });
    reader.readAsDataURL(file);
  });
}
