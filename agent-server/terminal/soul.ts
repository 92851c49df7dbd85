import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import { type SoulIssue, type SoulProposal, SoulVersion } from "../contract/soul.ts";
import { decodeSoul, diffSouls, lintSoul, loadSoulTerms } from "../governance/governance.ts";
import { productPaths } from "../paths.ts";
import { out } from "./output.ts";
import { openSession, type Session } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

const usage = "Usage: lancelot soul status, lancelot soul lint FILE, lancelot soul diff [FROM] [TO], or lancelot soul diff PROPOSAL";
/** Largest soul file, in bytes. */
const maxFileBytes = 1_000_000;

/**
 * `lancelot soul status`: the active soul, its versions and open proposals. `soul lint FILE`: issues as file:line:column; exit code 1
 * when one is critical; needs no workspace or data folder. `soul diff`: changes from version FROM to TO (by default the
 * version before the active one, and the active one), or the changes of a proposal.
 */
export async function soul(line: CommandLine): Promise<number> {
  const [command = "status", ...words] = line.words;
  if (command === "lint" && words.length === 1) return lint(line, words[0] ?? "");
  if (!(command === "status" && words.length === 0) && !(command === "diff" && words.length <= 2)) {
    throw new LancelotError("invalid_params", usage);
  }
  const session = await openSession(line, null, false);
  try {
    return command === "status" ? await status(line, session) : await diff(session, words);
  } finally {
    await session.close();
  }
}

function lint(line: CommandLine, file: string): number {
  const issues = lintFile(file);
  const critical = issues.some((issue) => issue.severity === "critical");
  if (line.json) out.json({ valid: !critical, issues });
  else if (issues.length === 0) out.write(`${file}: no issues.\n`);
  else for (const issue of issues) out.write(`${placed(file, issue)}\n`);
  return critical ? 1 : 0;
}

function lintFile(file: string): SoulIssue[] {
  let bytes: Buffer;
  try {
    const stat = statSync(resolve(file));
    if (!stat.isFile()) throw new LancelotError("invalid_params", `${file} is not a file.`);
    if (stat.size > maxFileBytes) throw new LancelotError("too_large", `${file} is too large: a soul has at most ${maxFileBytes} bytes.`);
    bytes = readFileSync(resolve(file));
  } catch (error) {
    if (error instanceof LancelotError) throw error;
    throw new LancelotError("not_found", `${file} cannot be read.`, { cause: error });
  }
  const text = decodeSoul(bytes);
  return typeof text === "string" ? lintSoul(text, loadSoulTerms(productPaths().configDir)) : [text];
}

function placed(file: string, { line, column, severity, rule, message }: SoulIssue): string {
  const place = line === undefined ? "" : `:${line}:${column ?? 1}`;
  return `${file}${place}: ${severity} ${rule}: ${message}`;
}

async function status(line: CommandLine, session: Session): Promise<number> {
  const now = await session.call("soul.status", {});
  if (line.json) {
    out.json(now);
    return now.problem === null ? 0 : 1;
  }
  out.write(now.activeVersion === null ? "No soul is active.\n" : `Soul ${now.activeVersion} is active.\n`);
  out.write(`Versions: ${now.versions.join(", ") || "none"}\n`);
  if (now.problem !== null) out.write(`${now.problem}\n`);
  for (const proposal of now.pendingProposals) {
    const critical = proposal.issues.filter((issue) => issue.severity === "critical").length;
    const issues = critical === 0 ? "" : `, critical issues: ${critical}`;
    out.write(
      `${proposal.id}  ${proposal.status} by ${proposal.proposedBy}, from ${proposal.fromVersion}${issues}: ${oneLine(proposal)}\n`,
    );
  }
  return now.problem === null ? 0 : 1;
}

function oneLine({ reason }: SoulProposal): string {
  const text = reason.replaceAll(/\s+/g, " ");
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

async function diff(session: Session, [from, to]: readonly string[]): Promise<number> {
  const isVersion = (word: string): boolean => SoulVersion.safeParse(word).success;
  if (from !== undefined && !isVersion(from)) {
    if (to !== undefined) throw new LancelotError("invalid_params", usage);
    const { items } = await session.call("soul.proposals", { limit: 200 });
    const proposal = items.find(({ id }) => id === from) ?? only(items.filter(({ id }) => id.startsWith(from)));
    if (proposal === undefined) throw new LancelotError("not_found", `There is no soul version or proposal ${from}.`);
    out.write(proposal.diff);
    return 0;
  }
  if (to !== undefined && !isVersion(to)) throw new LancelotError("invalid_params", `${to} is not a soul version. ${usage}`);
  const { activeVersion, versions } = await session.call("soul.status", {});
  const newer = await session.call("soul.get", to === undefined ? {} : { version: to });
  const before = from ?? versions[versions.indexOf(activeVersion ?? newer.version) - 1];
  if (before === undefined) {
    out.write(`Soul ${newer.version} is the first version, so there is none to compare it with.\n`);
    return 0;
  }
  const older = await session.call("soul.get", { version: before });
  out.write(older.version === newer.version ? `Both versions are ${newer.version}.\n` : diffSouls(older, newer));
  return 0;
}

function only<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}
