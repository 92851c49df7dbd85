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
  let seen = 0;
  for (const match of code.matchAll(/"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`/gs)) {
    seen += 1;
    if (seen > maxStrings) return;
    judgeString(match[1] ?? match[2] ?? match[3] ?? "", call);
  }
}

/** Denials for a string that code may use as a path or pass to a shell. */
function judgeString(text: string, call: ProgramCall): void {
  if (text.length > 2000 || /\p{Cc}/u.test(text)) return;
  const { scope } = call;
  call.findings.push(...judgePath(literal(text), "maybe", pathContext(scope)).filter((finding) => finding.verdict === "deny"));
  if (!/\s|\|/.test(text)) return;
  const run: Run = { ...scope.run, found: [] };
  const state = { cwds: scope.state.cwds, variables: new Map() };
  run.judgeText(text, nestedScope({ ...scope, run }, "text", { state, functions: new Map(), input: { kind: "none" } }));
  scope.run.count = Math.max(scope.run.count, run.count);
  for (const { findings } of run.found) call.findings.push(...findings.filter((finding) => finding.verdict === "deny"));
}
