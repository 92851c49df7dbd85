import { statSync } from "node:fs";

/**
 * When this process is root and another user owns the workspace, commands run as that user, so that they own their files and are not root.
 */
export function ownerOf(workspace: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(workspace);
  return uid === 0 ? undefined : { uid, gid };
}

/** The user id inside the sandbox. Root is mapped to a regular user, so that programs do not act as administrators. */
export function identityInside(workspace: string): { uid: number; gid: number } {
  const owner = ownerOf(workspace) ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  return { uid: owner.uid === 0 ? 1000 : owner.uid, gid: owner.gid === 0 ? 1000 : owner.gid };
}
