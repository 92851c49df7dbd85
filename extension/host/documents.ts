import { trimEnd } from "../../agent-server/contract/trim-end.ts";
import type { DocumentSelector } from "vscode-languageclient/node";
import { soulScheme } from "../review/soul-documents.ts";

/**
 * The YAML documents that the host serves, one line for each kind (see gateway/language/kinds.ts). Files with only a similar
 * name, such as another project's `config/models.yaml`, are excluded.
 */
export function documentSelector(dataDir: string): DocumentSelector {
  const data = escapeGlob(trimEnd(dataDir.replaceAll("\\", "/"), "/"));
  return [
    { scheme: soulScheme, language: "yaml" },
    { scheme: "untitled", language: "yaml", pattern: "**/soul_v*.yaml" },
    { scheme: "file", language: "yaml", pattern: "**/soul_versions/*.yaml" },
    { scheme: "file", language: "yaml", pattern: "**/soul.yaml" },
    { scheme: "file", language: "yaml", pattern: `${data}/config/{models,router}.yaml` },
    { scheme: "file", language: "yaml", pattern: `${data}/config/{prices,redaction,usage}.yaml` },
  ];
}

/** Escapes glob characters by wrapping each in a set. */
function escapeGlob(path: string): string {
  return path.replaceAll(/[*?{}[\]]/g, (character) => `[${character}]`);
}
