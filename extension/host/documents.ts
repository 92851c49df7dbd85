import type { DocumentSelector } from "vscode-languageclient/node";
import { soulScheme } from "../review/soul-documents.ts";

/**
 * The YAML documents the host is told of, one line a kind (the host's side is gateway/language/kinds.ts). Files that only look like
 * ours by name, such as another project's `config/models.yaml`, are left alone.
 */
export function documentSelector(dataDir: string): DocumentSelector {
  const data = escapeGlob(dataDir.replaceAll("\\", "/").replace(/\/+$/, ""));
  return [
    { scheme: soulScheme, language: "yaml" },
    { scheme: "untitled", language: "yaml", pattern: "**/soul_v*.yaml" },
    { scheme: "file", language: "yaml", pattern: "**/soul_versions/*.yaml" },
    { scheme: "file", language: "yaml", pattern: "**/soul.yaml" },
    { scheme: "file", language: "yaml", pattern: `${data}/config/{models,router}.yaml` },
    { scheme: "file", language: "yaml", pattern: `${data}/config/{prices,redaction,usage}.yaml` },
  ];
}

/** Characters of a path that a glob would read as something else; a set of one stands for itself. */
function escapeGlob(path: string): string {
  return path.replaceAll(/[*?{}[\]]/g, (character) => `[${character}]`);
}
