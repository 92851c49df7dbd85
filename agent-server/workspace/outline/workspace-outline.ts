import { LancelotError } from "../../contract/errors.ts";
import type { Result } from "../../contract/table.ts";
import type { Governance } from "../../governance/governance.ts";
import { resolveFile } from "../resolve-file.ts";
import type { WorkspaceFiles } from "../workspace-files.ts";
import type { Outliner } from "./outline.ts";

interface Deps {
  governance: Governance;
  files: WorkspaceFiles;
  outliner: Outliner;
}

/**
 * The outline of a file with the user's unsaved edits. Refuses files outside the workspace and secret ones.
 * @throws LancelotError `denied`, `not_found`, `invalid_params`, and the outliner's errors.
 */
export async function outlineFile({ governance, files, outliner }: Deps, path: string): Promise<Result<"workspace.outline">> {
  const file = resolveFile({ governance }, path);
  if (!file.inside || file.sensitive === "secret")
    throw new LancelotError(
      "denied",
      `${file.display} cannot be outlined: ${file.inside ? "it may contain secrets" : "it is outside the workspace"}.`,
    );
  if (file.type === "directory") throw new LancelotError("invalid_params", `${file.display} is a folder. Name a file in it.`);
  const { text } = await files.current(file);
  if (text === null) throw new LancelotError("not_found", `${file.display} does not exist.`);
  return { path: file.display, ...(await outliner.outline(file.display, text)) };
}
