/** What a played model does with a file's lines: the call it makes, and the lines as they are to be. */
export interface Step {
  readonly calls: readonly { readonly name: string; readonly args: Record<string, unknown> }[];
  readonly lines: readonly string[];
  /** The value it worked on. */
  readonly value: string;
}

interface Work {
  readonly path: string;
  readonly lines: readonly string[];
  readonly number: number;
  /** Of the line that is worked on. */
  readonly at: number;
  readonly value: string;
  /** Writes a value as a model might spell a word it was given. */
  readonly spell: (value: string) => string;
}

const sensitive = /\b(?:email|phone|iban|api_key|database_url|github_token)\b/i;

/**
 * The work of one exchange. It does the same with values as with what stands for them, so that the lines it gives for a file's true text
 * are those the file must have after a model did it to what it was shown.
 */
export function transform(number: number, path: string, lines: readonly string[], spell: (value: string) => string): Step {
  const places = lines.flatMap((line, index) => (sensitive.test(line) && /["'][^"']{6,}["'],?$/.test(line) ? [index] : []));
  const at = places[number % places.length] ?? 0;
  const value = /["']([^"']{6,})["'],?$/.exec(lines[at] ?? "")?.[1] ?? "";
  const kind = kinds[Math.floor(number / 5) % kinds.length] ?? replaceWith(() => []);
  const { calls, lines: after } = kind({ path, lines, number, at, value, spell });
  return { calls, lines: after, value };
}

type Kind = (work: Work) => Omit<Step, "value">;

function edited(lines: readonly string[], at: number, count: number, by: readonly string[]): string[] {
  return [...lines.slice(0, at), ...by, ...lines.slice(at + count)];
}

/** An edit of the line, or of that and those after it. */
function replaceWith(by: (work: Work, old: readonly string[]) => readonly string[], count = 1): Kind {
  return (work) => {
    const { path, lines, at } = work;
    const old = lines.slice(at, at + count);
    const made = by(work, old);
    return {
      calls: [{ name: "edit_file", args: { path, old_text: old.join("\n"), new_text: made.join("\n") } }],
      lines: edited(lines, at, old.length, made),
    };
  };
}

/** The name before a value. */
const renamed = (line: string): string => line.replace(/\w+(?="?\s*[:=])/, (name) => `renamed_${name}`);

const kinds: readonly Kind[] = [
  // Quotes it in a comment.
  replaceWith(({ value }, old) => [...old, `// was ${value}`]),
  // Moves it behind the next line.
  replaceWith((_work, old) => old.toReversed(), 2),
  // Moves it in by four blanks.
  replaceWith((_work, old) => old.map((line) => `    ${line}`), 3),
  // JSON within JSON.
  replaceWith(({ value, number }, old) => [
    ...old,
    `const json${String(number)} = ${JSON.stringify(JSON.stringify({ value, list: [value] }))};`,
  ]),
  // SQL.
  replaceWith(({ value }, old) => [...old, `-- INSERT INTO contacts (value) VALUES ('${value}') ON CONFLICT (value) DO NOTHING;`]),
  // A shell's command line.
  replaceWith(({ value, number }, old) => [...old, `# VALUE_${String(number)}='${value}' && printf '%s\\n' "${value}" | tee x.txt`]),
  // Another name around it.
  replaceWith((_work, old) => old.map(renamed)),
  // On a line of its own.
  replaceWith(({ value }, [line = ""]) => {
    const cut = line.indexOf(value) - 1;
    return [line.slice(0, cut).trimEnd(), `    ${line.slice(cut)}`];
  }),
  // A diff.
  ({ path, lines, at }) => {
    const before = lines.slice(Math.max(0, at - 2), at);
    const after = lines.slice(at + 1, at + 3);
    const line = lines[at] ?? "";
    const made = [renamed(line), `// ${line.trim()}`];
    const start = String(at - before.length + 1);
    const patch = [
      `--- a/${path}`,
      `+++ b/${path}`,
      `@@ -${start},${String(before.length + 1 + after.length)} +${start},${String(before.length + 2 + after.length)} @@`,
      ...before.map((one) => ` ${one}`),
      `-${line}`,
      ...made.map((one) => `+${one}`),
      ...after.map((one) => ` ${one}`),
    ];
    return { calls: [{ name: "apply_patch", args: { patch: `${patch.join("\n")}\n` } }], lines: edited(lines, at, 1, made) };
  },
  // The whole file anew, the line first.
  ({ path, lines, at }) => {
    const made = [lines[at] ?? "", ...edited(lines, at, 1, [])];
    return { calls: [{ name: "write_file", args: { path, content: `${made.join("\n")}\n` } }], lines: made };
  },
  // Cut out by one call, put back elsewhere by the next.
  ({ path, lines, at }) => {
    const line = lines[at] ?? "";
    const next = lines[at + 1] ?? "";
    const first = lines[0] ?? "";
    const rest = edited(lines, at, 1, []);
    return {
      calls: [
        { name: "edit_file", args: { path, old_text: `${line}\n${next}`, new_text: next } },
        { name: "edit_file", args: { path, old_text: `${first}\n`, new_text: `${first}\n${line}\n` } },
      ],
      lines: [first, line, ...rest.slice(1)],
    };
  },
  // In an address, in Markdown, spelled as models spell.
  replaceWith(({ value, spell }, old) => [
    ...old,
    `// [write](mailto:${spell(value)}) or **${spell(value)}s**, see https://x.test/?q=${spell(value)}&p=1`,
  ]),
];
