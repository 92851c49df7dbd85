import { openToOthers, whyNoOtherUser } from "../setup/other-users.mjs";

/**
 * Makes this process that of an ordinary user, for good, where it is root's; a test file has a process of its own. Import it first:
 * what a module remembers of who it runs as must be the user.
 */
if (process.getuid?.() === 0 && whyNoOtherUser() === null) {
  if (process.env["CI"] === "true") openToOthers();
  process.setgroups?.([]);
  process.setgid?.(1000);
  process.setuid?.(1000);
}
export const ordinary = process.getuid?.() !== 0;
