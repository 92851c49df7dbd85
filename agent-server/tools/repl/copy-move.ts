import { trimEnd } from "../../contract/trim-end.ts";
import { basename } from "node:path";
import { intentOf } from "../../contract/action.ts";
import { LancelotError } from "../../contract/errors.ts";
import { type FileContent, fileProvider, hashFile, readWhole, type ResolvedFile, resolveFile, sha256 } from "../../workspace/workspace.ts";
import { type Answer, defineTool, type Effect, fileStep, type Scope, type Tool } from "../tool.ts";
import { Argv, titleOf } from "./repl-command.ts";
import { walk } from "./entries.ts";
import { type Options, type OptionTable, parseOptions, wrong } from "./options.ts";

const maxFiles = 200;
const maxBytes = 50 * 1024 * 1024;
const maxFileBytes = 20 * 1024 * 1024;

const tables: Readonly<Record<"cp" | "mv", OptionTable>> = {
  cp: {
    name: "cp",
    flags: "rRapfnvT",
    long: { recursive: "r", archive: "a", force: "f", "no-clobber": "n", verbose: "v", "no-target-directory": "T" },
    refused: { "-s": "Links are not supported.", "-l": "Links are not supported." },
  },
  mv: { name: "mv", flags: "fnvT", long: { force: "f", "no-clobber": "n", verbose: "v", "no-target-directory": "T" } },
};

/** One file to copy or move. */
interface Move {
  readonly from: ResolvedFile;
  readonly to: ResolvedFile;
}

/** `cp`, and `mv`, which is authorized as a copy and a deletion. */
function transfer(name: "cp" | "mv"): Tool {
  const table = tables[name];
  return defineTool({
    name: `repl.${name}`,
    description: name === "cp" ? "Copies files and folders." : "Moves and renames files.",
    args: Argv,
    capability: "file_ops",
    action: "write",
    baseTier: name === "cp" ? "T1" : "T3",
    actionType: "file_op",
    provider: fileProvider,
    title: titleOf(name),
    reads: ({ argv }, scope) =>
      sourcesOf(argv, table).sources.map((path) => {
        const from = resolveFile(scope, path);
        return fileStep(from.type === "directory" ? "list" : "read", from);
      }),
    async plan({ argv }, scope) {
      const { sources, target, options } = sourcesOf(argv, table);
      const moves = await movesOf(scope, name, sources, target, options);
      if (moves.length === 0) return { kind: "answer", text: "Nothing to do: the existing files were kept.", outputs: { count: 0 } };
      return effectOf(scope, name, moves, sources);
    },
  });
}

export const cp = transfer("cp");
export const mv = transfer("mv");

function sourcesOf(argv: readonly string[], table: OptionTable): { sources: readonly string[]; target: string; options: Options } {
  const options = parseOptions(argv, table);
  const target = options.operands.at(-1);
  const sources = options.operands.slice(0, -1);
  if (target === undefined || sources.length === 0) throw wrong(table, "Name a source and a target.");
  return { sources, target, options };
}

async function movesOf(scope: Scope, name: "cp" | "mv", sources: readonly string[], target: string, options: Options): Promise<Move[]> {
  const into = resolveFile(scope, target);
  const intoFolder = into.type === "directory" && !options.on.has("T");
  if (!intoFolder && sources.length > 1) throw fault(name, `${target} is not a folder.`);
  if (!intoFolder && target.endsWith("/") && into.type !== "directory") throw fault(name, `${target} does not exist.`);
  const moves: Move[] = [];
  const recursive = options.on.has("r") || options.on.has("R") || options.on.has("a");
  const add = (from: ResolvedFile, toPath: string): void => {
    const to = resolveFile(scope, toPath);
    if (to.absolute === from.absolute) throw fault(name, `${from.asked} and ${toPath} are the same file.`);
    if (to.type === "directory") throw fault(name, `${toPath} is a folder.`);
    if (to.type === "file" && options.on.has("n")) return;
    if (moves.some((move) => move.to.absolute === to.absolute)) throw fault(name, `Two sources have the same target ${toPath}.`);
    if (moves.length >= maxFiles) throw fault(name, `At most ${String(maxFiles)} files at once.`);
    moves.push({ from, to });
  };
  for (const path of sources) {
    const from = resolveFile(scope, path);
    const place = intoFolder ? `${trimEnd(target, "/")}/${basename(from.asked === "." ? from.absolute : from.asked)}` : target;
    if (from.type === "missing") throw new LancelotError("not_found", `${name}: ${path} does not exist.`);
    if (from.type !== "directory") {
      add(from, place);
      continue;
    }
    if (name === "mv")
      throw fault(name, `${path} is a folder, and only single files can be moved. Copy it with cp -r, then delete its files.`);
    if (!recursive) throw fault(name, `${path} is a folder. Copy it with -r.`);
    if (`${into.absolute}/`.startsWith(`${from.absolute}/`)) throw fault(name, "A folder cannot be copied into itself.");
    await walk(scope, from, 50, ({ absolute, stats, shown, depth }) => {
      if (depth === 0 || stats.isDirectory()) return;
      if (!stats.isFile()) throw fault(name, `${shown} is a link or a special file, which is not copied.`);
      add(resolveFile(scope, absolute), `${place}/${absolute.slice(from.absolute.length + 1)}`);
    });
  }
  return moves;
}

async function effectOf(scope: Scope, name: "cp" | "mv", moves: readonly Move[], sources: readonly string[]): Promise<Effect> {
  // Only the folder was authorized, so each file in it is authorized as a read of its own.
  const named = new Set(sources.map((path) => resolveFile(scope, path).absolute));
  const contents = new Map<Move, FileContent>();
  let total = 0;
  for (const move of moves) {
    const { from } = move;
    const decision = scope.governance.evaluate(intentOf(fileStep("read", from), scope.call));
    // The named paths were authorized before. Files inside a named folder do not ask one by one.
    if (decision.verdict === "deny" || (decision.verdict === "ask" && !named.has(from.absolute)))
      throw new LancelotError("denied", `${name}: ${decision.rules.map(({ message }) => message).join(" ")}`, { data: { decision } });
    const content = await readWhole(from, maxFileBytes);
    if (content === null) throw new LancelotError("conflict", `${name}: ${from.asked} is gone.`);
    total += content.bytes.length;
    if (total > maxBytes) throw fault(name, "The files exceed 50 MB.");
    contents.set(move, content);
  }
  const bytesOf = (move: Move): FileContent => {
    const content = contents.get(move);
    if (content === undefined) throw new LancelotError("internal", `${name}: a file was not read.`);
    return content;
  };
  const steps = moves.flatMap((move) => {
    const written = fileStep("write", move.to, { contentSha256: sha256(bytesOf(move).bytes), copyOf: move.from.absolute });
    return name === "mv" ? [written, fileStep("delete", move.from)] : [written];
  });
  const touches = moves.flatMap((move) => {
    const { bytes, mode } = bytesOf(move);
    const written = { path: move.to, planned: bytes, plannedMode: mode };
    return name === "mv" ? [written, { path: move.from, planned: null }] : [written];
  });
  const verb = name === "cp" ? "Copy" : "Move";
  return {
    kind: "effect",
    steps,
    question: {
      title: `${verb} ${moves.length === 1 ? (moves[0]?.from.display ?? "") : `${String(moves.length)} files`}`,
      detail: moves.map(({ from, to }) => `${from.display} → ${to.display}${to.type === "file" ? " (replaced)" : ""}`).join("\n"),
    },
    touches,
    run: async () => {
      const paths = moves.flatMap(({ from, to }) => [from.absolute, to.absolute]);
      return scope.locks.hold(paths, async () => {
        const changedFiles: unknown[] = [];
        for (const move of moves) {
          const { bytes, mode } = bytesOf(move);
          const source = sha256(bytes);
          if ((await hashFile(move.from)) !== source)
            throw new LancelotError("conflict", `${name}: ${move.from.display} was changed in the meantime, so the rest was not done.`);
          changedFiles.push(await scope.files.writeBytes(move.to, await hashFile(move.to), bytes, mode));
          if (name === "mv") changedFiles.push(await scope.files.writeBytes(move.from, source, null));
        }
        const answer: Answer = {
          kind: "answer",
          text: moves.map(({ from, to }) => `${from.display} → ${to.display}`).join("\n"),
        };
        return { value: answer, outputs: { changedFiles } };
      });
    },
  };
}

function fault(name: string, why: string): LancelotError {
  return new LancelotError("invalid_params", `${name}: ${why}`);
}
