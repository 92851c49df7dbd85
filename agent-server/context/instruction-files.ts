import { join, posix } from "node:path";
import type { Governance } from "../governance/governance.ts";
import type { Redactor } from "../security/security.ts";
import { readBounded } from "./bounded-read.ts";

/** An instruction file of the owner or the repository. */
export interface Instruction {
  /** Display name: `USER.md`, `packages/a/AGENTS.md`. */
  name: string;
  origin: "owner" | "repository";
  text: string;
  truncated: boolean;
  /** Sanitizer rules that found injected instructions in a repository file. */
  findings: readonly string[];
}

/** An instruction file before the sanitizer has inspected it. */
export interface InstructionFile extends Omit<Instruction, "findings"> {
  /** Bytes of the whole file. */
  bytes: number;
}

const fileBytes = 8_192;
const totalBytes = 24_576;
const ownerFiles = ["USER.md", "RULES.md", "MEMORY_SUMMARY.md"];
const repositoryFiles = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"];

interface Sources {
  governance: Pick<Governance, "resolvePath">;
  redactor: Redactor;
  dataDir: string;
  workspace: string | null;
}

/**
 * Reads the owner's files from the data folder, then the workspace's files, nearest to `near` first. Each is truncated to 8 KB,
 * all together to 24 KB. (Requirement C1.)
 * @param near workspace-relative paths of the files the task is about
 */
export async function readInstructions(
  { governance, redactor, dataDir, workspace }: Sources,
  near: readonly string[],
): Promise<InstructionFile[]> {
  const found: InstructionFile[] = [];
  let left = totalBytes;

  const add = async (name: string, absolute: string, origin: Instruction["origin"]): Promise<void> => {
    if (left <= 0) return;
    const read = await readBounded(absolute, Math.min(fileBytes, left));
    if (read === null || read.binary) return;
    const text = redactor.text(read.text).text.trim();
    if (text === "") return;
    left -= Buffer.byteLength(text);
    found.push({ name, origin, text, truncated: read.truncated, bytes: read.size });
  };

  for (const name of ownerFiles) await add(name, join(dataDir, name), "owner");
  if (workspace === null) return found;
  for (const path of repositoryPaths(near)) {
    const resolved = governance.resolvePath(path);
    if (resolved.ok && resolved.inside && resolved.type === "file" && resolved.sensitive !== "secret") {
      await add(resolved.display, resolved.absolute, "repository");
    }
  }
  return found;
}

/** Candidate paths of instruction files: from each file's folder up to the root, deepest folders first. */
export function repositoryPaths(near: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of near) {
    let folder = posix.dirname(posix.normalize(path.replaceAll("\\", "/")));
    while (folder !== "." && folder !== "/" && !folder.startsWith("..")) {
      folders.add(folder);
      folder = posix.dirname(folder);
    }
  }
  const depth = (folder: string): number => folder.split("/").length;
  const ordered = [...folders].sort((a, b) => depth(b) - depth(a) || (a < b ? -1 : 1));
  return [...ordered.map((folder) => `${folder}/`), ""].flatMap((prefix) => repositoryFiles.map((name) => prefix + name));
}
