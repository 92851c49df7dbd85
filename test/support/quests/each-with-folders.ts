import { afterEach, beforeEach } from "vitest";
import { makeFolders } from "./harness.ts";

/** Folders of its own for each test of a file. Hosts that a test adds to the returned list are closed before the folders are removed. */
export function eachWithFolders(use: (folders: ReturnType<typeof makeFolders>) => void): { close(): Promise<void> }[] {
  const open: { close(): Promise<void> }[] = [];
  let folders: ReturnType<typeof makeFolders>;
  beforeEach(() => {
    folders = makeFolders();
    use(folders);
  });
  afterEach(async () => {
    for (const host of open.splice(0)) await host.close();
    folders.remove();
  });
  return open;
}
