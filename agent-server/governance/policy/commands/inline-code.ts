import { type Field, literal, valueOf } from "./shell-fields.ts";
import { alwaysAsks } from "./command-findings.ts";
import { judgePath } from "./command-paths.ts";
import { nestedScope, pathContext, type Run } from "./command-scope.ts";
import type { ProgramCall } from "./program-call.ts";

const maxStrings = 200;

/**
 * Judges code of another language on the command line. It always requires approval. Its string literals are checked too, so that
 * the name of a secret file or a destructive shell command denies.
 */
export function judgeInlineCode(field: Field, call: ProgramCall): void {
  call.findings.push(
    alwaysAsks(
      "inline-code",
      `Runs unreviewed code: inline ${call.name} code.`,
      ["Write the code to a file of the workspace, where it can be reviewed."],
      ["execute"],
    ),
  );
  const code = valueOf(field);
  if (code === null) return;
  const prints = onlyPrints(code);
  let seen = 0;
  for (const match of code.matchAll(strings)) {
    seen += 1;
    if (seen > maxStrings) return;
    judgeString(match[1] ?? match[2] ?? match[3] ?? "", call, prints);
  }
}

const strings = /"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`/gs;

/** Names that print, compute or count. Nothing that they reach can start a program, open a file or find another name by its text. */
const harmlessNames = new Set(
  [
    "print puts echo printf p say console log error info warn debug stdout write sys JSON json stringify dumps parse loads",
    "len str int float repr list tuple dict set range sum min max sorted round abs enumerate zip map join split strip upper lower replace",
    "format toFixed toString length size slice concat repeat padStart padEnd trim toUpperCase toLowerCase push reverse count index",
    "time datetime date now today isoformat strftime perf_counter Date Math math floor ceil sqrt random randint version version_info",
    "platform for in of if else elif and or not is import from as let const var end sep file flush true false True False None null nil undefined",
  ].flatMap((line) => line.split(" ")),
);

/**
 * True for code that only prints: then its texts are words for a reader, and none of them reaches a shell. Every name outside of texts
 * must be known, or a single letter that is not called, and no text may hold code (templates, f-strings, backticks). False in doubt.
 */
function onlyPrints(code: string): boolean {
  if (/`|[#$@]\{|#[$@]|__|\b[a-z]{0,2}f[a-z]?["']/i.test(code)) return false;
  const bare = code.replaceAll(strings, " 0 ");
  if (/["'\\#@|<>]|\/\/|%x/.test(bare)) return false;
  return [...bare.matchAll(/([\p{L}_$][\p{L}\p{N}_$]*)(\s*\()?/gu)].every(
    ([, name = "", call]) => harmlessNames.has(name) || (call === undefined && /^[a-z]$/i.test(name)),
  );
}

/** Denials for a string that code may use as a path or, unless it `prints` only, pass to a shell. */
function judgeString(text: string, call: ProgramCall, prints: boolean): void {
  if (text.length > 2000 || /\p{Cc}/u.test(text)) return;
  const { scope } = call;
  call.findings.push(...judgePath(literal(text), "maybe", pathContext(scope)).filter((finding) => finding.verdict === "deny"));
  if (prints || !/\s|\|/.test(text)) return;
  const run: Run = { ...scope.run, found: [] };
  const state = { cwds: scope.state.cwds, variables: new Map() };
  run.judgeText(text, nestedScope({ ...scope, run }, "text", { state, functions: new Map(), input: { kind: "none" } }));
  scope.run.count = Math.max(scope.run.count, run.count);
  for (const { findings } of run.found) call.findings.push(...findings.filter((finding) => finding.verdict === "deny"));
}
