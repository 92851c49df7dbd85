import type { StoredMessage } from "../stored-quest.ts";

/** A command that a task learned works, with the receipt that shows it. */
export interface WorkingCommand {
  readonly content: string;
  readonly receiptId: string;
}

type Work = "test" | "build" | "lint" | "types" | "format";

/** Which work a command does, by how such commands begin; the first that holds counts. */
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
 * What is known of a project's commands by the receipts of these messages: for each kind of work the command that ended with 0 the last
 * time it was run, where it takes the project as a whole. A command that is joined, piped or aimed at single files says nothing of that.
 */
export function workingCommands(messages: readonly StoredMessage[]): WorkingCommand[] {
  const last = new Map<string, { work: Work; text: string; cwd: string; receiptId: string | null }>();
  for (const { message } of messages) {
    for (const part of message.parts) {
      if (part.type !== "tool" || part.tool !== "run_command" || part.command === undefined) continue;
      const { text: run, cwd, exitCode, ended } = part.command;
      const text = run.trim();
      const work = workOf(text);
      if (work === null) continue;
      const worked = part.status === "success" && exitCode === 0 && ended === "exit";
      last.set(`${work}\n${cwd}\n${text}`, { work, text, cwd, receiptId: worked ? part.receiptId : null });
    }
  }
  const best = new Map<string, WorkingCommand>();
  for (const { work, text, cwd, receiptId } of last.values()) {
    if (receiptId === null) continue;
    const where = cwd === "." ? "" : ` in ${cwd}`;
    best.set(`${work}\n${cwd}`, { content: `${sentences[work]} \`${text}\`${where}`, receiptId });
  }
  return [...best.values()];
}

function workOf(text: string): Work | null {
  const isWhole =
    text.length <= maxCommand &&
    !/[\n;&|<>`$(){}"'\\]/.test(text) &&
    !/(?:^|\s)(?!-)\S*(?:\.\w{1,5}|\/\S+)(?=\s|$)/.test(text.replace(/^(?:\.\/|vendor\/bin\/)\S+/, ""));
  return isWhole ? (works.find(({ pattern }) => pattern.test(text))?.work ?? null) : null;
}
