import type { CommandJudgment } from "../../decision-facts.ts";

/** The name of a script, target or subcommand, after the program that runs it. */
const testTask = /^(?:[^\s=]+=\S*\s+)*(?!test\s)\S+(?:\s+\S+){0,3}?\s+(?:-{1,2})?(?:tests?|tst|t)(?=$|[\s:])/;
/** Programs that run tests. */
const testRunner = /(?:^|[\s/.:])(?:py\.?test|vitest|jest|mocha|ava|rspec|phpunit|ctest|unittest|nextest)(?=$|[\s@])/;
/** After these, the exit code of the line says nothing certain about its tests. */
const hidesExitCode = /[|;&`\n!]|\$\(|[<>]\(/;

/**
 * True when a command line runs tests and its exit code is theirs: it is one command, or a chain of `&&`. In doubt false, because the user
 * reads "tests passed" on a proposed change.
 */
export function runsTests(command: string, { parts, tags }: Pick<CommandJudgment, "parts" | "tags">): boolean {
  const chain = command.replaceAll("&&", " ").replaceAll(/(?:(?<!\d)\d+)?>&\d+/g, " ");
  if (hidesExitCode.test(chain)) return false;
  const isProgram = tags.some((tag) => tag === "test" || tag === "execute" || tag === "build");
  return parts.some(
    ({ text, rule }) => (isProgram || rule.id.startsWith("command.interpreter.")) && (testTask.test(text) || testRunner.test(text)),
  );
}
