import { existsSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import { capabilities } from "../contract/governance.ts";
import type { SoulScope } from "../contract/soul.ts";
import type { Governance } from "../governance/governance.ts";

/** The name of the tool that starts sub-tasks. */
export const subtaskTool = "spawn_subtask";

/** What sub-tasks may do besides looking, by capability: only what reaches nothing but their own proposals and pages of the web. */
const grantable: ReadonlyMap<string, readonly string[]> = new Map([
  ["file_ops", ["file_ops"]],
  ["shell_exec", ["shell_exec"]],
  ["web_ops", ["web_ops.fetch"]],
]);
const known: ReadonlySet<string> = new Set(capabilities);

/**
 * The stricter soul of a sub-task: reviewed edits, nothing irreversible, and only the named capabilities and paths (requirement A11). It has
 * no field that could widen the soul of the task.
 * @param allowed capabilities, and files or folders of the workspace; absent: everything that a sub-task may do
 * @throws LancelotError `invalid_params` for an entry that is neither
 */
export function subtaskScope(
  allowed: readonly string[] | undefined,
  { workspace, governance }: { readonly workspace: string; readonly governance: Pick<Governance, "resolvePath"> },
): SoulScope {
  const named = new Set<string>();
  const paths: string[] = [];
  for (const entry of allowed ?? []) {
    if (known.has(entry)) {
      if (!grantable.has(entry)) throw unknownEntry(entry, "a sub-task cannot have this capability");
      named.add(entry);
    } else paths.push(pathOf(entry));
  }
  const granted = [...grantable].filter(([capability]) => named.size === 0 || named.has(capability));
  return {
    name: "sub-task",
    level: "supervised",
    limits: { max_tier: "T2", capabilities: granted.flatMap(([, actions]) => actions), ...(paths.length === 0 ? {} : { paths }) },
  };

  function pathOf(entry: string): string {
    const resolved = governance.resolvePath(entry);
    if (!resolved.ok) throw unknownEntry(entry, resolved.message);
    if (!resolved.inside) throw unknownEntry(entry, "it is outside the workspace");
    const absolute = join(workspace, resolved.display);
    // A new file or folder is recognized by the folder it is to be in.
    const isNew = entry.includes("/") && existsSync(dirname(absolute));
    if (!existsSync(absolute) && !isNew) throw unknownEntry(entry, "it is neither a capability nor a file or folder of the workspace");
    return resolved.display;
  }
}

/** The paths that the arguments of a call name, as written; null where the sub-task may change everything. */
export function subtaskPaths(args: Record<string, unknown>): string[] | null {
  const { allowed } = args;
  if (!Array.isArray(allowed)) return null;
  const paths = allowed.filter((entry): entry is string => typeof entry === "string" && !known.has(entry));
  return paths.length === 0 ? null : paths.map((path) => posix.normalize(path).replace(/\/$/, ""));
}

function unknownEntry(entry: string, reason: string): LancelotError {
  const names = [...grantable.keys()].join(", ");
  return new LancelotError(
    "invalid_params",
    `allowed: "${entry}" cannot be used: ${reason}. Name capabilities (${names}), and existing files or folders relative to the workspace.`,
  );
}
