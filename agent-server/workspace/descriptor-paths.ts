import { diskPath } from "./byte-path.ts";

/** Linux only: opens an entry without its content, which needs no permission on it. Node does not name this flag. */
export const pathOnly = 0x200000;

/** Path of an open file or folder itself, which nobody can replace. Linux only. */
export function itself(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

/** Path of an entry of an open folder, for node:fs. Only its last name is not protected from links. Linux only. */
export function at(folder: number, name: string): string | Buffer {
  return diskPath(`${itself(folder)}/${name}`);
}
