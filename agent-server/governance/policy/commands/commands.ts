import { hash } from "node:crypto";
import { homedir } from "node:os";
import * as nodePath from "node:path";
import type { Rule } from "../../../contract/governance.ts";
import { LancelotError } from "../../../contract/errors.ts";
import type { CommandJudgment } from "../../decision-facts.ts";
import { createCodeTrace, hidesCode } from "./command-code.ts";
import { denies, type Finding, alwaysAsks, severity, strictest } from "./command-findings.ts";
import { type CommandTable, parseCommandTable, readCommandTable, type TableFile } from "./command-table.ts";
import { commandPrefixes } from "./command-prefix.ts";
import { type Engine, type FoundPart, newLooks, resolvingOnce, type Run, type Scope } from "./command-scope.ts";
import { judgeScript, judgeText } from "./shell-script.ts";
import type { CodeTrace } from "./types.ts";
import type { ResolvedPath } from "../path-policy.ts";

export { runsTests } from "./runs-tests.ts";
export { startsWithWords } from "./command-prefix.ts";

export interface CommandPolicy {
  /**
   * Judges a command line as it would run in `cwd` (by default the workspace). Never throws: a failure denies.
   * Pure except for path lookups; takes tens of microseconds for an ordinary command.
   */
  readonly judge: (command: string, cwd: string | undefined) => CommandJudgment;
  /**
   * Beginnings of a plain command that an approval may cover, shortest first: the program with its subcommand, then with the subcommand's
   * first operand. None for a command line with syntax, or for a program without subcommands.
   */
  readonly prefixes: (command: string) => readonly string[];
  /** SHA-256 of the tables; empty when they are unusable. */
  readonly version: string;
  /** Why the tables are unusable, which denies every command; null when they are usable. */
  readonly problem: string | null;
}

export interface CommandPolicyDeps {
  configDir: string;
  /** Absolute; null without a workspace. */
  workspace: string | null;
  /** The path policy. */
  resolvePath: (path: string) => ResolvedPath;
  /** The path policy's verdict by name alone, which makes folder searches fast. */
  judgeName?: (relative: string) => "secret" | "protected" | null;
  /** The message of a path rule. */
  ruleMessage?: (rule: string) => string;
  home?: string;
}

const maxCommandLength = 50_000;

/**
 * The command policy of one workspace. Loads and validates its table on first use, which takes 0.1 to 0.2 s. With an unusable
 * table it denies every command.
 */
export function createCommandPolicy(deps: CommandPolicyDeps): CommandPolicy {
  const home = deps.home ?? homedir();
  let loaded: { engine: Engine } | { problem: string } | null = null;

  function load(): { engine: Engine } | { problem: string } {
    try {
      const table = checkedTable(readCommandTable(deps.configDir));
      const paths = {
        resolve: deps.resolvePath,
        judgeName: deps.judgeName ?? null,
        ruleMessage: deps.ruleMessage ?? (() => "Sensitive file."),
        home,
      };
      return { engine: { table, home, paths } };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    judge(command, cwd) {
      loaded ??= load();
      if ("problem" in loaded) return refused(denies("table-failed", loaded.problem, ["Ask the owner to restore the file."]));
      try {
        return judge(command, cwd ?? (deps.workspace === null ? null : "."), loaded.engine);
      } catch {
        return refused(denies("failed", "The command check failed, so this command is denied.", ["Write the command more simply."]));
      }
    },
    prefixes(command) {
      loaded ??= load();
      return "problem" in loaded ? [] : commandPrefixes(command, loaded.engine.table);
    },
    get version() {
      loaded ??= load();
      return "problem" in loaded ? "" : loaded.engine.table.version;
    },
    get problem() {
      loaded ??= load();
      return "problem" in loaded ? loaded.problem : null;
    },
  };
}

/** Validated tables by their text, shared by the workspaces of a process. Immutable. */
const validatedTables = new Map<string, CommandTable>();

/** The table, with all examples validated. @throws LancelotError `internal`, naming the failing rule. */
function checkedTable(files: readonly TableFile[]): CommandTable {
  const key = hash("sha256", JSON.stringify(files), "base64");
  const known = validatedTables.get(key);
  if (known !== undefined) return known;
  const table = parseCommandTable(files);
  const [fault] = commandTableFaults(table);
  if (fault !== undefined)
    throw new LancelotError("internal", `The command rule ${fault} (config/commands). Restore the file, or reinstall Lancelot.`);
  validatedTables.set(key, table);
  return table;
}

function judge(command: string, cwd: string | null, engine: Engine): CommandJudgment {
  const refusal = refuse(command);
  if (refusal !== null) return refused(refusal);
  const run = walkCommand(command, cwd, engine);
  if (run.found.length === 0) return refused(alwaysAsks("empty", "The command is empty.", ["Write the command to run."]));
  return verdictOf(
    run.found.map(({ findings }) => findings),
    run.found,
    run.code,
  );
}

function walkCommand(command: string, cwd: string | null, engine: Engine): Run {
  const run: Run = {
    engine: resolvingOnce(engine),
    looks: newLooks(),
    judgeText,
    judgeScript,
    found: [],
    count: 0,
    isOver: false,
    code: createCodeTrace(),
    fetches: false,
  };
  const scope: Scope = {
    run,
    within: [],
    depth: 0,
    state: { cwds: cwd === null ? null : [cwd], variables: new Map() },
    functions: new Map(),
    input: { kind: "none" },
  };
  judgeText(command, scope);
  return run;
}

const invisible = /\p{Default_Ignorable_Code_Point}|\p{Bidi_Control}|\p{Cf}|\p{Zl}|\p{Zp}/u;
// Joiners are legitimate between letters of scripts that need them, and inside emoji.
const legitimateJoiners =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}])[\u200C\u200D]|(?<=[^ -~])[\u{FE0E}\u{FE0F}]/gu;

/** Rejects text before parsing: characters that are invisible, or that shell and parser read differently. */
function refuse(command: string): Finding | null {
  const plainly = ["Write the command again in plain characters."];
  if (command.length > maxCommandLength) {
    return alwaysAsks("too-large", `The command is longer than ${maxCommandLength} characters.`, [
      "Put the content into a file with write_file, and run shorter commands.",
    ]);
  }
  if (/[^\n\t -~]/.test(command)) {
    if (/[^\P{Cc}\n\t]/u.test(command)) {
      return denies(
        "control-character",
        "The command contains a control character, such as a carriage return, which shells read differently.",
        plainly,
      );
    }
    if (!command.isWellFormed()) return denies("encoding", "The command is not valid Unicode.", plainly);
    if (invisible.test(command.replaceAll(legitimateJoiners, ""))) {
      return denies(
        "invisible",
        "The command contains invisible or direction-changing characters, which can disguise what it does.",
        plainly,
      );
    }
  }
  return null;
}

function refused(finding: Finding): CommandJudgment {
  return verdictOf([[finding]], []);
}

/** Combines the findings of all simple commands. The strictest decides. */
function verdictOf(found: readonly (readonly Finding[])[], parts: readonly FoundPart[], code?: CodeTrace): CommandJudgment {
  const all = found.flat();
  const worst = strictest(all) ?? denies("failed", "No rule matched this command.");
  const deciding = all.filter(({ verdict }) => verdict === worst.verdict).toSorted((one, other) => severity(other) - severity(one));
  const rules = new Map<string, Rule>();
  for (const { id, message } of deciding) {
    if (!rules.has(`${id}\n${message}`)) rules.set(`${id}\n${message}`, { id: `command.${id}`, source: "policy", message });
  }
  const risky = all.reduce((risk, finding) => Math.max(risk, riskOrder.indexOf(finding.risk)), 0);
  return {
    verdict: worst.verdict,
    tier: all.some(({ tier }) => tier === "T3") ? "T3" : "T2",
    riskLevel: riskOrder[risky] ?? "critical",
    rules: [...rules.values()].slice(0, 50),
    alternatives: worst.verdict === "allow" ? [] : [...new Set(deciding.flatMap(({ instead }) => instead))].slice(0, 10),
    scope: worst.id,
    tags: [...new Set(["shell" as const, ...all.flatMap((finding) => finding.tags)])],
    programs: programsOf(parts),
    parts: parts.map(({ part }) => part),
    code: code === undefined || code.isUnknown || all.some(({ id }) => hidesCode(id)) ? null : [...code.sources.values()],
  };
}

/**
 * The programs of a command line. Those that only read and start no other program are left out beside others: a pipe into `tail` is no
 * other action.
 */
function programsOf(parts: readonly FoundPart[]): readonly string[] {
  const active = parts.filter(({ part, findings }, index) => {
    const startsOther = (parts[index + 1]?.part.within.length ?? 0) > part.within.length;
    return startsOther || part.verdict !== "allow" || findings.some(({ tags }) => tags.some((tag) => tag !== "read"));
  });
  return [...new Set((active.length > 0 ? active : parts).map(({ program }) => program))].toSorted();
}

const riskOrder = ["low", "medium", "high", "critical"] as const;

/**
 * Checks each rule's examples in a workspace where every path is a missing regular file.
 * @returns one sentence per failing example
 */
export function commandTableFaults(table: CommandTable): string[] {
  const faults: string[] = [];
  const resolve = (path: string): ResolvedPath => ({
    ok: true,
    absolute: nodePath.resolve("/example/workspace", path),
    display: path,
    inside: true,
    type: "missing",
    sensitive: null,
    rule: null,
  });
  const engine: Engine = {
    table,
    home: "/example/home",
    paths: { resolve, judgeName: () => null, ruleMessage: () => "", home: "/example/home" },
  };
  const idsOf = (command: string) =>
    new Set(walkCommand(command, ".", engine).found.flatMap(({ findings }) => findings.map(({ id }) => id)));
  const seen = new Set<unknown>();
  for (const program of table.programs.values()) {
    if (seen.has(program)) continue;
    seen.add(program);
    for (const { finding, match, notMatch } of program.rules) {
      for (const example of match)
        if (!idsOf(example).has(finding.id)) faults.push(`${finding.id} does not match its example "${example}"`);
      for (const example of notMatch)
        if (idsOf(example).has(finding.id)) faults.push(`${finding.id} matches "${example}", which it must not`);
    }
  }
  return faults;
}
