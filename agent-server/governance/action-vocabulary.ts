/**
 * The kind of an action, as named in the soul's `allowed_autonomous`. Each intent has exactly one kind.
 * `config/governance.yaml` maps the soul's terms to kinds and tags.
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
 * What an action does and touches, for `requires_approval`, risk rules, trust and learning. An intent has any number of tags,
 * besides its capability (`file_ops`), `capability.action` (`file_ops.write`) and kind.
 */
export const tags = [
  "read",
  "write",
  "delete",
  /** Cannot be recovered: disks, history, databases, recursive removal. */
  "destroy",
  /** Drops a database, a table, a stash, a volume. */
  "drop",
  "deploy",
  "publish",
  "push",
  "commit",
  /** Rewrites committed or shared history. */
  "history",
  /** Installs software. */
  "install",
  /** Runs unreviewed code: scripts, interpreters, unknown programs. */
  "execute",
  "build",
  "test",
  "shell",
  "network",
  /** Sends data out. */
  "upload",
  "download",
  "credentials",
  /** Uses or changes privileges: sudo, chmod, setuid. */
  "privilege",
  "container",
  /** Outside the workspace. */
  "outside",
  /** A secret or protected file. */
  "sensitive",
  /** Ends processes. */
  "process",
  /** Services, users, system packages, disks, kernel. */
  "system",
  /** Changes the behavior of later commands: environment, aliases, hooks, editor settings, crontab. */
  "settings",
  "database",
  "memory",
  "skill",
  "vision",
  "connector",
] as const;
export type Tag = (typeof tags)[number];
