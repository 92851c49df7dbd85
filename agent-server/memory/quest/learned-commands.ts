import type { ToolPart } from "../../contract/chat.ts";

/** A sentence about a command that worked in a task, with its receipt as evidence. */
export interface LearnedCommand {
  readonly content: string;
  readonly receiptId: string;
}

type Work = "test" | "build" | "lint" | "types" | "format";

/** The kind of work a command does, by how it begins; the first match counts. */
const works: readonly { readonly work: Work; readonly pattern: RegExp }[] = [
  {
    work: "types",
    pattern:
      /^(?:(?:npx|pnpm|yarn|bunx)\s+(?:exec\s+)?)?(?:tsc|vue-tsc|mypy|pyright)(?:\s|$)|^(?:npm|pnpm|yarn|bun) (?:run )?(?:type-?check|types|tsc)(?:\s|$)/,
  },
  {
    work: "lint",
    pattern:
      /^(?:(?:npx|pnpm|yarn|bunx)\s+(?:exec\s+)?)?(?:eslint|oxlint|biome (?:check|lint|ci)|ruff(?: check)?|flake8|pylint|golangci-lint|rubocop|shellcheck)(?:\s|$)|^(?:npm|pnpm|yarn|bun) (?:run )?lint(?:\s|$)|^(?:cargo clippy|make lint|just lint|go vet)(?:\s|$)/,
  },
  {
    work: "format",
    pattern:
      /^(?:(?:npx|pnpm|yarn|bunx)\s+(?:exec\s+)?)?(?:prettier|biome format|ruff format|black|gofmt|rustfmt)(?:\s|$)|^(?:npm|pnpm|yarn|bun) (?:run )?format(?:\s|$)|^(?:cargo fmt|make format)(?:\s|$)/,
  },
  {
    work: "test",
    pattern:
      /^(?:npm|pnpm|yarn|bun|deno) (?:run )?(?:t|test(?:[:-][\w:-]+)?)(?:\s|$)|^(?:(?:npx|pnpm|yarn|bunx)\s+(?:exec\s+)?)?(?:vitest|jest|mocha|ava|playwright test)(?:\s|$)|^(?:python3? -m )?(?:pytest|unittest|tox)(?:\s|$)|^(?:go|cargo|dotnet|mix|swift|flutter|dart) test(?:\s|$)|^cargo nextest run|^(?:\.\/)?(?:mvnw?|gradlew?) (?:\S+ )*test(?:\s|$)|^(?:make|just) (?:test|check)(?:\s|$)|^(?:bundle exec )?(?:rspec|rake test)(?:\s|$)|^(?:vendor\/bin\/)?phpunit(?:\s|$)|^ctest(?:\s|$)|^node --test(?:\s|$)/,
  },
  {
    work: "build",
    pattern:
      /^(?:npm|pnpm|yarn|bun) (?:run )?build(?:[:-][\w:-]+)?(?:\s|$)|^(?:go|cargo|dotnet|swift|flutter) build(?:\s|$)|^(?:\.\/)?(?:mvnw?|gradlew?) (?:\S+ )*(?:package|build|assemble)(?:\s|$)|^make(?:\s+(?:all|build))?$|^just build(?:\s|$)|^cmake --build(?:\s|$)/,
  },
];

const sentences: Record<Work, string> = {
  test: "Tests are run with",
  build: "The project is built with",
  lint: "The code is linted with",
  types: "Types are checked with",
  format: "The code is formatted with",
};
/** UTF-16 units. */
const maxCommand = 120;

/**
 * The project's commands that worked: for each kind of work and folder, the last one that exited with 0 on its last run. Commands that
 * are joined, piped, or limited to single files or folders are ignored.
 */
export function learnedCommands(calls: readonly ToolPart[]): LearnedCommand[] {
  const last = new Map<string, { work: Work; text: string; cwd: string; receiptId: string | null }>();
  for (const { tool, command, status, receiptId } of calls) {
    if (tool !== "run_command" || command === undefined) continue;
    const { cwd, exitCode, ended } = command;
    const text = command.text.trim();
    const work = workOf(text);
    if (work === null) continue;
    const succeeded = status === "success" && exitCode === 0 && ended === "exit";
    last.set(`${work}\n${cwd}\n${text}`, { work, text, cwd, receiptId: succeeded ? receiptId : null });
  }
  const best = new Map<string, LearnedCommand>();
  for (const { work, text, cwd, receiptId } of last.values()) {
    if (receiptId === null) continue;
    const folder = cwd === "." ? "" : ` in ${cwd}`;
    best.set(`${work}\n${cwd}`, { content: `${sentences[work]} \`${text}\`${folder}`, receiptId });
  }
  return [...best.values()];
}

function workOf(text: string): Work | null {
  const isWhole =
    text.length <= maxCommand &&
    !/[\n;&|<>`$(){}"'\\]/.test(text) &&
    !text
      .replace(/^(?:\.\/|vendor\/bin\/)\S+/, "")
      .split(/\s/)
      .some((word) => !word.startsWith("-") && /\.\w{1,5}$|\/./.test(word));
  return isWhole ? (works.find(({ pattern }) => pattern.test(text))?.work ?? null) : null;
}
