import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../remove-tree.ts";

/** A workspace, what lies around it on the machine, and a secret in each of these places that no command may read. */
export interface SandboxFixture {
  readonly workspace: string;
  readonly dataDir: string;
  /** Beside the workspace; its name begins with the workspace's. */
  readonly outside: string;
  /** In files of `dataDir` and `outside`, and in the environment of this process. */
  readonly canary: string;
  /** Relative to the workspace; all of them exist. */
  readonly protectedPaths: readonly string[];
  /** Whom the workspace belongs to: not root, where this process may give things away. */
  readonly owner: { uid: number; gid: number };
  close(): void;
}

const protectedPaths = [".git/hooks", ".git/config", ".vscode/settings.json", ".mcp.json"];

/** Makes the room. As root the workspace belongs to uid 1000, so that owning it and being root differ. */
export function createSandboxFixture(): SandboxFixture {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-sandbox-")));
  chmodSync(root, 0o755);
  const workspace = join(root, "project");
  const outside = join(root, "project-evil");
  const dataDir = join(root, "data");
  const canary = `canary-${randomBytes(12).toString("hex")}`;
  for (const folder of [workspace, outside, dataDir, join(dataDir, "config"), join(workspace, "src")])
    mkdirSync(folder, { recursive: true });
  // Readable by everybody: only the sandbox stands before them, not their mode.
  writeFileSync(join(outside, "secret.txt"), canary, { mode: 0o644 });
  writeFileSync(join(dataDir, "lancelot.sqlite"), canary, { mode: 0o644 });
  writeFileSync(join(dataDir, "config/flags.yaml"), `# ${canary}\n`, { mode: 0o644 });
  writeFileSync(join(workspace, "README.md"), "hello\n");
  for (const folder of [".git/hooks", ".git/objects", ".vscode"]) mkdirSync(join(workspace, folder), { recursive: true });
  writeFileSync(join(workspace, ".git/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(workspace, ".git/config"), "[core]\n\trepositoryformatversion = 0\n");
  writeFileSync(join(workspace, ".vscode/settings.json"), "{}\n");
  writeFileSync(join(workspace, ".mcp.json"), "{}\n");
  const root0 = process.getuid?.() === 0;
  const owner = root0 ? { uid: 1000, gid: 1000 } : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (root0) {
    for (const entry of [workspace, ...readdirSync(workspace, { recursive: true }).map((name) => join(workspace, String(name)))])
      chownSync(entry, owner.uid, owner.gid);
    // Writable by everybody, so that again only the sandbox stands before it.
    chmodSync(outside, 0o777);
  }
  const before = process.env["LANCELOT_SANDBOX_CANARY"];
  process.env["LANCELOT_SANDBOX_CANARY"] = canary;
  return {
    workspace,
    dataDir,
    outside,
    canary,
    protectedPaths,
    owner,
    close() {
      if (before === undefined) delete process.env["LANCELOT_SANDBOX_CANARY"];
      else process.env["LANCELOT_SANDBOX_CANARY"] = before;
      removeTree(root);
    },
  };
}
