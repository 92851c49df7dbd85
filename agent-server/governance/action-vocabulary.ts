/**
 * What an action is, for the owner's own words in `allowed_autonomous`: each intent is exactly one kind.
 * Terms of the soul are mapped to kinds and tags by `config/governance.yaml`.
 */
export const kinds = [
  "read_files",
  "search_files",
  "edit_files",
  "delete_files",
  "run_commands",
  "read_repository",
  "commit",
  "branch",
  "checkout",
  "apply_patch",
  "clone",
  "push",
  "fetch_pages",
  "download",
  "screenshot",
  "post",
  "scaffold",
  "build_and_test",
  "deploy",
  "see_screen",
  "act_on_screen",
  "read_memory",
  "write_memory",
  "run_skills",
  "send_messages",
  "plan",
  "other",
] as const;
export type Kind = (typeof kinds)[number];

/**
 * What an action does and touches, for `requires_approval`, risk rules, trust and learning. An intent has any number; beside these
 * it has its capability (`file_ops`), `capability.action` (`file_ops.write`) and its kind.
 */
export const tags = [
  "read",
  "write",
  "delete",
  /** Cannot be brought back: disks, history, databases, recursive removal. */
  "destroy",
  /** Drops a database, a table, a stash, a volume. */
  "drop",
  "deploy",
  "publish",
  "push",
  "commit",
  /** Rewrites what was committed or shared. */
  "history",
  /** Adds software. */
  "install",
  /** Runs code that is not judged itself: scripts, interpreters, unknown programs. */
  "execute",
  "build",
  "test",
  "shell",
  "network",
  /** Sends data out. */
  "upload",
  "download",
  "credentials",
  /** Uses or changes rights: sudo, chmod, setuid. */
  "privilege",
  "container",
  /** Beyond the workspace. */
  "outside",
  /** A file that policy calls secret or protected. */
  "sensitive",
  /** Ends processes. */
  "process",
  /** Services, users, packages of the machine, disks, kernel. */
  "system",
  /** Changes what later commands do: environment, aliases, hooks, editor settings, crontab. */
  "settings",
  "database",
  "memory",
  "skill",
  "vision",
  "connector",
] as const;
export type Tag = (typeof tags)[number];
