import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createPiiDetector, createRedactor, piiKinds } from "../../agent-server/security/security.ts";
import { type Half, languages, negatives, positives, type Sample, score } from "../support/pii/labelled.ts";
import type { BenchRow } from "./bench-row.ts";

const root = join(import.meta.dirname, "../..");
const halves: readonly Half[] = ["dev", "held-out"];

/**
 * Personal data by rules alone: recall (exact place and kind) and precision on the labelled set by half, language and kind; speed beside the
 * bare redactor of secrets on the same texts; the share of lines of real sources that it would change.
 */
export async function run(): Promise<BenchRow[]> {
  const detector = createPiiDetector(null);
  const [before, from] = [process.memoryUsage().rss, performance.now()];
  await detector.ready();
  const loaded = performance.now() - from;
  const rows: BenchRow[] = [
    {
      name: "numbering plans loaded",
      ours: loaded,
      bare: loaded,
      ratio: 1,
      unit: "ms",
      note: `${((process.memoryUsage().rss - before) / 1e6).toFixed(0)} MB, unbundled`,
    },
  ];
  const clean = (half: Half): Sample[] => negatives(half).map((text) => ({ text, labels: [] }));
  const percent = (name: string, samples: readonly Sample[]): void => {
    const { labels, exact, covered, false: wrong } = score(detector, samples);
    const share = (100 * exact) / labels;
    const precision = (100 * exact) / (exact + wrong);
    rows.push({
      name: `recall, ${name}`,
      ours: share,
      bare: precision,
      ratio: share / precision,
      unit: "%",
      note: `bare: precision; ${labels} labels, ${covered} covered, ${wrong} false`,
    });
  };
  const all = halves.flatMap((half) => languages.flatMap((language) => positives(half, language)));
  percent("whole set", [...all, ...halves.flatMap(clean)]);
  for (const half of halves) percent(`${half} half`, [...languages.flatMap((language) => positives(half, language)), ...clean(half)]);
  for (const language of languages)
    percent(
      language,
      halves.flatMap((half) => positives(half, language)),
    );
  for (const half of halves)
    for (const kind of piiKinds.filter((one) => one !== "custom")) {
      const samples = languages
        .flatMap((language) => positives(half, language))
        .filter(({ labels }) => labels.some((label) => label.kind === kind));
      percent(
        `${kind}, ${half}`,
        samples.map(({ text, labels }) => ({ text, labels })),
      );
    }

  const redactor = createRedactor();
  const host = readFileSync(join(root, "agent-server/host.ts"), "utf8");
  const mixed = [
    readFileSync(join(root, "README.md"), "utf8").slice(0, 4_000),
    all
      .slice(0, 20)
      .map(({ text }) => text)
      .join("\n"),
    host,
  ].join("\n");
  for (const [name, text] of [
    ["code", host.slice(0, 10_000)],
    ["a prompt (prose, data, code)", mixed.slice(0, 10_000)],
    [
      "nothing but personal data",
      all
        .map(({ text: sample }) => sample)
        .join("\n")
        .slice(0, 10_000),
    ],
  ] as const) {
    const ours = time(() => detector.find(text));
    const bare = time(() => redactor.text(text));
    rows.push({
      name: `10 KB of ${name}, p50`,
      ours,
      bare,
      ratio: ours / bare,
      unit: "ms",
      note: `bare: redactor of secrets; ${(text.length / 1_000 / ours).toFixed(0)} MB/s`,
    });
  }
  // Ten times the text is ten times the time, whatever it is made of.
  for (const unit of ["1", "@", "Maria ", "name: ", "Rua de ", '{"', "tel "]) {
    const small = time(() => detector.find(unit.repeat(20_000 / unit.length)), 5);
    const large = time(() => detector.find(unit.repeat(200_000 / unit.length)), 5);
    rows.push({
      name: `200 KB of ${JSON.stringify(unit)}`,
      ours: large,
      bare: small * 10,
      ratio: large / (small * 10),
      unit: "ms",
      note: "bare: ten times 20 KB",
    });
  }
  rows.push(
    ...sources(
      ["node_modules", "agent-server", "/usr/lib/python3", "/usr/lib/python3.11", "/usr/include", "/usr/share/perl"],
      detector.find,
    ),
  );
  return rows;
}

/** Lines of real sources that would be changed; addresses and names of authors are most of them, and personal. */
function sources(folders: readonly string[], find: ReturnType<typeof createPiiDetector>["find"]): BenchRow[] {
  const rows: BenchRow[] = [];
  for (const folder of folders) {
    const files = [...sourceFiles(folder.startsWith("/") ? folder : join(root, folder))];
    const step = Math.max(1, Math.floor(files.length / 800));
    let lines = 0;
    let changed = 0;
    let other = 0;
    for (const file of files.filter((_, index) => index % step === 0)) {
      const text = readFileSync(file, "utf8");
      lines += text.split("\n").length;
      const matches = find(text);
      const lineOf = (at: number): number => text.lastIndexOf("\n", at);
      changed += new Set(matches.map(({ start }) => lineOf(start))).size;
      other += new Set(matches.filter(({ kind }) => kind !== "email" && kind !== "person").map(({ start }) => lineOf(start))).size;
    }
    if (lines === 0) continue;
    const share = (100 * changed) / lines;
    const rest = (100 * other) / lines;
    rows.push({
      name: `lines changed in ${folder}`,
      ours: share,
      bare: rest,
      ratio: rest === 0 ? 0 : share / rest,
      unit: "%",
      note: `bare: for other than names and e-mail; ${lines} lines`,
    });
  }
  return rows;
}

function* sourceFiles(folder: string): Generator<string> {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sourceFiles(path);
    else if (entry.isFile() && /\.(?:[cm]?[jt]s|py|h|hpp|p[lm]|css|json)$/.test(entry.name) && statSync(path).size < 300_000) yield path;
  }
}

/** Median, in ms. */
function time(work: () => unknown, rounds = 30): number {
  const times: number[] = [];
  for (let round = 0; round < rounds + 5; round += 1) {
    const from = performance.now();
    work();
    if (round >= 5) times.push(performance.now() - from);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}
