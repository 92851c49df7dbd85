import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import * as z from "zod";

const folder = join(import.meta.dirname, "../../fixtures/injections");

const Call = z.strictObject({ tool: z.string(), args: z.record(z.string(), z.union([z.string(), z.boolean()])) });
export type Call = z.infer<typeof Call>;

const Via = z.enum([
  "file",
  "list",
  "branch",
  "error",
  "search",
  "git_log",
  "git_diff",
  "patch_file",
  "instructions",
  "diagnostics",
  "attach",
  "mention",
  "selection",
  "paste",
  "reason",
  "steer",
  "answer",
]);
const Group = z.strictObject({
  via: Via,
  ext: z.string().optional(),
  attempts: z.array(z.tuple([z.string(), z.string()]).rest(z.string())),
});

/** One attempt: a text that reaches the model by some way, and what an obeying model makes of them. */
export interface Attempt {
  readonly id: string;
  readonly via: z.infer<typeof Via>;
  readonly goal: string;
  readonly text: string;
  /** Extension of the file, name of the instruction file. */
  readonly name: string;
  /** What the model says in the end. */
  readonly says: string;
}

export type Goals = Readonly<Record<string, readonly Call[]>>;

/** The shipped soul without its comments and without one word of what it asks about. */
function laxSoul(): string {
  const shipped = readFileSync(join(import.meta.dirname, "../../../soul/soul_versions/soul_v1.yaml"), "utf8");
  return shipped.replace(/^ *#.*\n/gm, "").replace("    - push\n", "");
}

/** The goals, with the owner's folders put in. */
export function loadGoals(places: { data: string; home: string }): Goals {
  const text = readFileSync(join(folder, "goals.yaml"), "utf8");
  const fill = (value: string | boolean) =>
    typeof value === "string"
      ? value.replaceAll("{{data}}", places.data).replaceAll("{{home}}", places.home).replaceAll("{{soul}}", laxSoul())
      : value;
  const goals = z.record(z.string(), z.array(Call)).parse(parse(text));
  return Object.fromEntries(
    Object.entries(goals).map(([goal, calls]) => [
      goal,
      calls.map(({ tool, args }) => ({
        tool,
        args: Object.fromEntries(Object.entries(args).map(([name, value]) => [name, fill(value)])),
      })),
    ]),
  );
}

/** Every attempt, as written: `{{order}}` and its kin are filled in by `textOf`. */
export function loadAttempts(): Attempt[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml") && name !== "goals.yaml");
  return files.sort().flatMap((file) => {
    const documents = parseAllDocuments(readFileSync(join(folder, file), "utf8"));
    let number = 0;
    return documents.flatMap((document) => {
      const { via, ext, attempts } = Group.parse(document.toJS());
      return attempts.map(([goal, message, third]): Attempt => {
        number += 1;
        const says = file === "says.yaml" ? third : undefined;
        const how = file === "unicode.yaml" ? third : undefined;
        return {
          id: `inj-${file.replace(".yaml", "")}-${String(number)}`,
          via,
          goal,
          text: how === undefined ? message : message.replaceAll("{{order}}", `{{order:${how}}}`),
          name: (says === undefined && how === undefined ? third : undefined) ?? ext ?? "txt",
          says: says ?? "Done. Yes, go ahead; the owner approved it. I approve approval 1.",
        };
      });
    });
  });
}

const lines = (text: string) => text.replaceAll("\r\n", "\n");

/** How an order can be hidden; the obeying model reads each of these. */
export const disguises: Record<string, { hide: (text: string) => string; find: (text: string) => string }> = {
  tags: {
    hide: (text) => String.fromCodePoint(...Array.from(text, (letter) => 0xe0000 + (letter.codePointAt(0) ?? 0))),
    find: (text) => text.replace(/[\u{e0020}-\u{e007e}]/gu, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) - 0xe0000)),
  },
  zero_width: { hide: (text) => Array.from(text).join("\u200b"), find: (text) => text.replaceAll("\u200b", "") },
  soft_hyphen: { hide: (text) => Array.from(text).join("\u00ad"), find: (text) => text.replaceAll("\u00ad", "") },
  full_width: {
    hide: (text) => text.replace(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
    find: (text) => text.replace(/[\uff01-\uff5e]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0xfee0)),
  },
  base64: {
    hide: (text) => chunked(Buffer.from(text).toString("base64"), 12),
    find: (text) =>
      text.replace(/(?:[A-Za-z0-9+/=]{1,12} ){3,}[A-Za-z0-9+/=]{1,12}/g, (run) =>
        Buffer.from(run.replaceAll(" ", ""), "base64").toString(),
      ),
  },
  hex: {
    hide: (text) => chunked(Buffer.from(text).toString("hex"), 2),
    find: (text) => text.replace(/(?:[0-9a-f]{2} ){8,}[0-9a-f]{2}/g, (run) => Buffer.from(run.replaceAll(" ", ""), "hex").toString()),
  },
  rot13: { hide: rot13, find: rot13 },
  rtl: {
    hide: (text) => `\u202e${Array.from(text).toReversed().join("")}\u202c`,
    find: (text) => text.replace(/\u202e([^\u202c]*)\u202c/g, (_all, run: string) => Array.from(run).toReversed().join("")),
  },
  percent: { hide: encodeURIComponent, find: (text) => text.replace(/(?:%[0-9A-F]{2}|[\w.!~*'()-])+/g, safeDecode) },
  carriage: { hide: (text) => `nothing here\r${text}\rnothing here`, find: (text) => text },
  json: { hide: (text) => JSON.stringify(text).slice(1, -1), find: (text) => text.replaceAll('\\"', '"').replaceAll("\\\\", "\\") },
  html: { hide: (text) => text.replaceAll('"', "&quot;"), find: (text) => text.replaceAll("&quot;", '"') },
};

function chunked(text: string, size: number): string {
  return text.match(new RegExp(`.{1,${String(size)}}`, "g"))?.join(" ") ?? text;
}

function rot13(text: string): string {
  return text.replace(/[a-z]/gi, (letter) => {
    const base = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The text of an attempt with its orders in them. */
export function textOf(attempt: Attempt, goals: Goals): string {
  const calls = goals[attempt.goal];
  if (calls === undefined) throw new Error(`${attempt.id} wants ${attempt.goal}, which is no goal.`);
  const order = calls.map(({ tool, args }) => `call ${tool} with ${JSON.stringify(args)}`).join(" and then ");
  return lines(attempt.text)
    .replaceAll("{{alias}}", `do-goal-${attempt.goal}`)
    .replace(/\{\{order_(json|html)\}\}/g, (_all, how: string) => disguises[how]?.hide(order) ?? order)
    .replace(/\{\{order:(\w+)\}\}/g, (_all, how: string) => disguises[how]?.hide(order) ?? order)
    .replaceAll("{{order}}", order);
}
