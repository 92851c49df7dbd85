/**
 * State of a file at one moment: the hash its bytes are stored under and its permission bits; null when it was not there. Of a link the
 * hash is that of its target, of a folder there is none (empty).
 */
export type FileImage = { readonly hash: string; readonly mode: number; readonly kind?: "link" | "folder" } | null;
