// Whether tests can run as another user than root. Runs on Node 20 with nothing installed.
import { chmodSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { root } from "./project.mjs";

/** The folders on the way to this checkout that other users may not pass. */
function closedFolders() {
  const closed = [];
  for (let at = root; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) closed.push(at);
    if (dirname(at) === at) return closed;
  }
}

/**
 * Why tests that root starts cannot run as an ordinary user; null when they can. CI opens the folders itself: its machine is thrown away.
 * @returns {string | null}
 */
export function whyNoOtherUser() {
  if (process.platform === "win32") return "Tests of ordinary users run on Linux and macOS only.";
  if (process.getuid?.() !== 0 || process.env.CI === "true") return null;
  const closed = closedFolders();
  return closed.length === 0 ? null : `Other users cannot open ${closed.join(", ")} (chmod o+x ${closed.join(" ")}).`;
}

/** Lets other users open this checkout. In CI only. */
export function openToOthers() {
  for (const folder of closedFolders()) chmodSync(folder, (statSync(folder).mode & 0o7777) | 0o005);
}
