import { readdir } from "node:fs/promises";
import type { Governance } from "../governance/governance.ts";
import type { Redactor } from "../security/security.ts";
import { readBounded } from "./bounded-read.ts";
import { fence } from "./fence.ts";

const attachedBytes = 128 * 1024;
const listedEntries = 200;

export type AttachedFile =
  | { ok: true; path: string; text: string; bytes: number; findings: string[] }
  | { ok: false; path: string; problem: string };

/**
 * Reads a file or folder that the owner attached, as fenced text for the model. Secret files are redacted, and paths outside the
 * workspace are refused with a reason.
 */
export async function readAttached(
  {
    governance,
    redactor,
    inspect,
  }: { governance: Pick<Governance, "resolvePath">; redactor: Redactor; inspect: (text: string) => string[] },
  path: string,
): Promise<AttachedFile> {
  const resolved = governance.resolvePath(path);
  if (!resolved.ok) return { ok: false, path, problem: resolved.message };
  const name = resolved.display;
  if (!resolved.inside) return { ok: false, path: name, problem: "It is outside the workspace." };
  if (resolved.type === "directory") {
    const entries = await readdir(resolved.absolute, { withFileTypes: true }).catch(() => null);
    if (entries === null) return { ok: false, path: name, problem: "The folder cannot be read." };
    const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
    const more = names.length > listedEntries ? `\n… and ${String(names.length - listedEntries)} more` : "";
    const listing = names.slice(0, listedEntries).join("\n") + more;
    return {
      ok: true,
      path: name,
      text: fence(`Folder ${name}, attached by the owner`, listing),
      bytes: Buffer.byteLength(listing),
      findings: inspect(listing),
    };
  }
  if (resolved.type !== "file") return { ok: false, path: name, problem: "There is no such file." };
  const read = await readBounded(resolved.absolute, attachedBytes);
  if (read === null) return { ok: false, path: name, problem: "The file cannot be read." };
  if (read.binary) return { ok: false, path: name, problem: "It is not a text file." };
  const rest = read.truncated ? `\n[the first ${String(attachedBytes)} of ${String(read.size)} bytes; read_file reads on]` : "";
  return {
    ok: true,
    path: name,
    text: fence(`File ${name}, attached by the owner`, redactor.text(read.text).text + rest),
    bytes: read.size,
    findings: inspect(`${name}\n${read.text}`),
  };
}
