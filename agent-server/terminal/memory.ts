import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { LancelotError } from "../contract/errors.ts";
import { MemoryJobName } from "../contract/memory.ts";
import { out } from "./output.ts";
import {
  commitsText,
  compiledText,
  contextsText,
  coreText,
  diffText,
  itemsText,
  jobsText,
  placeOf,
  quarantineText,
  statusText,
} from "./memory-tables.ts";
import { plainText } from "./columns.ts";
import { openSession, type Session } from "./session.ts";
import type { CommandLine } from "./command-line.ts";

/** The output of a command as text and as JSON (`--json`), and its exit code. */
interface Output {
  readonly text: string;
  readonly json: unknown;
  readonly code?: number;
}

interface Command {
  /** The arguments after `lancelot memory`. */
  readonly usage: string;
  /** Fewest and most arguments. */
  readonly words: readonly [number, number];
  run(session: Session, words: readonly string[], line: CommandLine): Promise<Output>;
}

const any = Number.POSITIVE_INFINITY;

const commands: Record<string, Command> = {
  status: {
    usage: "status",
    words: [0, 0],
    run: async ({ call }) => {
      const status = await call("memory.status", {});
      return { text: statusText(status), json: status, code: status.problem === null ? 0 : 1 };
    },
  },
  core: {
    usage: "core",
    words: [0, 0],
    run: async ({ call }) => {
      const core = await call("memory.core", {});
      return { text: coreText(core.blocks), json: core };
    },
  },
  search: {
    usage: "search QUERY",
    words: [0, any],
    run: async ({ call }, words) => {
      const found = await call("memory.search", { query: words.join(" "), limit: 20 });
      return { text: orNothing(itemsText(found.items.map(({ item }) => item)), "No memories match."), json: found };
    },
  },
  remember: {
    usage: "remember TEXT",
    words: [1, any],
    run: async ({ call }, words) => {
      const kept = await call("memory.remember", { text: words.join(" ") });
      const notes = kept.notes.map((note) => `${plainText(note)}\n`).join("");
      return { text: `Remembered in ${placeOf(kept.item)} as ${kept.item.id}: ${plainText(kept.item.content)}\n${notes}`, json: kept };
    },
  },
  forget: {
    usage: "forget TEXT|ID",
    words: [1, any],
    run: async ({ call }, words) => {
      const query = words.join(" ");
      const done = await call("memory.forget", /^mem_[\w-]+$/u.test(query) ? { id: query } : { text: query });
      if (done.forgotten !== null) {
        const undoHint = done.commitId === null ? "" : ` To undo this, run: lancelot memory rollback ${done.commitId}\n`;
        return { text: `Forgotten: ${plainText(done.forgotten.content)}\n${undoHint}`, json: done };
      }
      const text =
        done.candidates.length === 0
          ? "No memory matches this text.\n"
          : `Several memories match. Run forget with the id of one:\n${itemsText(done.candidates)}`;
      return { text, json: done, code: 1 };
    },
  },
  commits: {
    usage: "commits",
    words: [0, 0],
    run: async ({ call }) => {
      const commits = await call("memory.commits", { limit: 50 });
      return { text: orNothing(commitsText(commits.items), "There are no commits yet."), json: commits };
    },
  },
  rollback: {
    usage: "rollback ID | rollback --last N",
    words: [0, 1],
    run: async (session, [id], line) => {
      const reason = line.reason ?? "Rolled back in the terminal.";
      if ((id === undefined) === (line.last === undefined)) throw usage("rollback");
      const done = await session.call(
        "memory.rollback",
        id === undefined ? { last: countOf(line.last), reason } : { commitId: await commitOf(session, id), reason },
      );
      const what = done.commitId === null ? "Dropped" : "Rolled back";
      return { text: `${what}: ${done.rolledBack.join(", ")}\n${diffText(done.diff)}`, json: done };
    },
  },
  quarantine: {
    usage: "quarantine",
    words: [0, 0],
    run: async ({ call }) => {
      const waiting = await call("memory.quarantine", { limit: 200 });
      return { text: orNothing(quarantineText(waiting.items), "The quarantine is empty."), json: waiting };
    },
  },
  promote: {
    usage: "promote ID",
    words: [1, 1],
    run: async (session, [id = ""], { reason }) => {
      const done = await session.call("memory.promote", {
        id: await quarantinedOf(session, id),
        ...(reason === undefined ? {} : { reason }),
      });
      return { text: `Approved in commit ${done.commitId}.\n${diffText(done.diff)}`, json: done };
    },
  },
  deny: {
    usage: "deny ID",
    words: [1, 1],
    run: async (session, [id = ""], { reason }) => {
      const done = await session.call("memory.deny", { id: await quarantinedOf(session, id), ...(reason === undefined ? {} : { reason }) });
      return { text: `Denied: ${plainText(done.entry.content ?? done.entry.current ?? done.entry.id)}\n`, json: done };
    },
  },
  compile: {
    usage: "compile OBJECTIVE",
    words: [1, any],
    run: async ({ call }, words, { questId }) => {
      const compiled = await call("memory.compile", { objective: words.join(" "), ...(questId === undefined ? {} : { questId }) });
      return { text: compiledText(compiled), json: compiled };
    },
  },
  contexts: {
    usage: "contexts",
    words: [0, 0],
    run: async ({ call }) => {
      const contexts = await call("memory.contexts", {});
      return { text: orNothing(contextsText(contexts.items), "There are no compiled contexts yet."), json: contexts };
    },
  },
  export: {
    usage: "export [markdown|jsonl]",
    words: [0, 1],
    run: ({ call }, [format = "jsonl"]) => {
      if (format !== "markdown" && format !== "jsonl") throw usage("export");
      return exported(call, format);
    },
  },
  backup: { usage: "backup", words: [0, 0], run: ({ call }) => exported(call, "backup") },
  import: {
    usage: "import FILE [--replace] [--dry-run]",
    words: [1, 1],
    run: async ({ call }, [file = ""], { replace, dryRun }) => {
      // A name that is not a file here is a file in the data folder's exports/.
      const path = !isAbsolute(file) && existsSync(resolve(file)) ? resolve(file) : file;
      const done = await call("memory.import", { path, mode: replace ? "replace" : "merge", dryRun });
      const counts = `${String(done.added)} added, ${String(done.updated)} updated, ${String(done.unchanged)} unchanged, ${String(done.removed)} removed`;
      const how = dryRun ? "Dry run" : done.commitId === null ? "Nothing changed" : `Imported in commit ${done.commitId}`;
      const refused = done.refused.map(({ line, reason }) => `line ${String(line)} was refused: ${plainText(reason)}\n`).join("");
      return { text: `${how}: ${counts}.\n${refused}`, json: done, code: done.refused.length === 0 ? 0 : 1 };
    },
  },
  jobs: {
    usage: "jobs",
    words: [0, 0],
    run: async ({ call }) => {
      const jobs = await call("memory.jobs", {});
      return { text: jobsText(jobs.items), json: jobs };
    },
  },
  run: {
    usage: "run JOB",
    words: [1, 1],
    run: async ({ call }, [word = ""]) => {
      const name = word === "memory_cleanup" ? "memory_compact_working" : MemoryJobName.safeParse(word).data;
      if (name === undefined)
        throw new LancelotError(
          "invalid_params",
          `There is no job ${plainText(word)}. Available jobs: ${MemoryJobName.options.join(", ")}.`,
        );
      const job = await call("memory.runJob", { name });
      return { text: jobsText([job]), json: job, code: job.last?.status === "run" ? 0 : 1 };
    },
  },
};

/**
 * `lancelot memory [status|core|search|…]`: shows and changes this workspace's memory. Exit code 0 on
 * success, 1 otherwise: also when `forget` finds several candidates, an import refuses lines, or a job or check finds a problem.
 */
export async function memory(line: CommandLine): Promise<number> {
  const [name = "status", ...words] = line.words;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined || words.length < command.words[0] || words.length > command.words[1]) throw usage(name);
  const session = await openSession(line, line.workspace, false);
  try {
    const output = await command.run(session, words, line);
    if (line.json) out.json(output.json);
    else out.write(output.text);
    return output.code ?? 0;
  } finally {
    await session.close();
  }
}

function usage(name: string): LancelotError {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const ways = command === undefined ? Object.keys(commands).join(", ") : command.usage;
  return new LancelotError(
    "invalid_params",
    command === undefined ? `Usage: lancelot memory COMMAND, where COMMAND is one of ${ways}.` : `Usage: lancelot memory ${ways}`,
  );
}

function orNothing(text: string, nothing: string): string {
  return text === "" ? `${nothing}\n` : text;
}

async function exported(call: Session["call"], format: "markdown" | "jsonl" | "backup"): Promise<Output> {
  const made = await call("memory.export", { format });
  return {
    text: `Exported ${String(made.items)} ${made.items === 1 ? "item" : "items"} to exports/${made.file} in the data folder (SHA-256 ${made.sha256}).\n`,
    json: made,
  };
}

function countOf(text: string | undefined): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 50)
    throw new LancelotError("invalid_params", "--last requires a number of commits, from 1 to 50.");
  return count;
}

/** The full id for an abbreviated one, with or without the id's prefix. */
function idOf(ids: readonly string[], prefix: string, start: string): string {
  const meant = ids.filter((id) => id.startsWith(start) || id.startsWith(`${prefix}${start}`));
  const [only] = meant;
  if (only === undefined || ids.includes(start)) return start;
  if (meant.length > 1) throw new LancelotError("conflict", `Several ids start with ${plainText(start)}. Enter more characters of the id.`);
  return only;
}

async function commitOf({ call }: Session, start: string): Promise<string> {
  const { items } = await call("memory.commits", { limit: 200 });
  return idOf(
    items.map(({ id }) => id),
    "commit_",
    start,
  );
}

async function quarantinedOf({ call }: Session, start: string): Promise<string> {
  const { items } = await call("memory.quarantine", { limit: 200 });
  return idOf(
    items.map(({ id }) => id),
    "quarantine_",
    start,
  );
}
