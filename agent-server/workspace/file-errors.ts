import { type ErrorCode, LancelotError } from "../contract/errors.ts";

const words: Record<string, { code: ErrorCode; text: (path: string) => string }> = {
  ENOENT: { code: "not_found", text: (path) => `${path} does not exist.` },
  ENOTDIR: { code: "not_found", text: (path) => `A part of ${path} is a file, not a folder.` },
  EISDIR: { code: "invalid_params", text: (path) => `${path} is a folder.` },
  EACCES: { code: "unavailable", text: (path) => `The system does not permit this on ${path}. Check its permissions and owner.` },
  EPERM: { code: "unavailable", text: (path) => `The system does not permit this on ${path}. Check its permissions and owner.` },
  EROFS: { code: "unavailable", text: (path) => `${path} is on a read-only file system.` },
  ENOSPC: { code: "unavailable", text: (path) => `The disk is full; ${path} was not changed. Free some space and try again.` },
  EFBIG: { code: "unavailable", text: (path) => `${path} would be larger than the system allows. It was not changed.` },
  EDQUOT: { code: "unavailable", text: (path) => `The disk quota is used up; ${path} was not changed.` },
  ETXTBSY: { code: "conflict", text: (path) => `${path} is a program that is running. Stop it and try again.` },
  EBUSY: { code: "conflict", text: (path) => `${path} is in use by another program. Close it there and try again.` },
  EMFILE: { code: "unavailable", text: (path) => `Too many files are open; ${path} was not changed. Try again.` },
  ENAMETOOLONG: { code: "invalid_params", text: (path) => `The name of ${path} is too long for this file system.` },
  EXDEV: { code: "unavailable", text: (path) => `${path} is on a different device than its folder, so it cannot be replaced in one step.` },
  ELOOP: { code: "denied", text: (path) => `${path} became a symbolic link in the meantime. It was not changed.` },
  ENXIO: { code: "invalid_params", text: (path) => `${path} is not a regular file.` },
  EEXIST: { code: "conflict", text: (path) => `${path} was created in the meantime. It was not overwritten.` },
};

/** Converts a file system error to one with a message for the user and the model. */
export function fileError(error: unknown, path: string): LancelotError {
  if (error instanceof LancelotError) return error;
  const known = words[errno(error) ?? ""];
  if (known !== undefined) return new LancelotError(known.code, known.text(path), { cause: error });
  return new LancelotError("internal", `The file operation on ${path} failed${errno(error) === null ? "" : ` (${errno(error)})`}.`, {
    cause: error,
  });
}

/** The system's error name (`ENOENT`), or null. */
export function errno(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
