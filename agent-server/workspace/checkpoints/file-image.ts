/**
 * State of a path at one moment: the hash of its content and its permission bits; null when it did not exist. The hash of a link is that
 * of its target; a folder's hash is empty.
 */
export type FileImage = { readonly hash: string; readonly mode: number; readonly kind?: "link" | "folder" } | null;
