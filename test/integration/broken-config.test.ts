import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHost, type Host } from "../../agent-server/host.ts";
import { productPaths } from "../../agent-server/paths.ts";

/** Every file of the owner's `config/` folder: a valid text, a value out of range, a value of the wrong type, and one with an unknown key. */
const kinds: Record<string, { valid: string; wrong: Record<string, { text: string; line: number | null }> }> = {
  "flags.yaml": kind("flags: { SOUL: true }", { type: ["flags:\n  SOUL: sometimes", 2], range: ["flags: 3", 1] }),
  "models.yaml": kind("local:\n  small: true", { type: ["local:\n  small: 7", 2], range: ["local:\n  context: 1", 2] }),
  "router.yaml": kind("offline: wait", { type: ["offline: 5", 1], range: ["retries:\n  tries: 9000", 2] }),
  "prices.yaml": kind("updated: 2027-01-02\nprices: []", { type: ["prices: 3", 1], range: ["updated: soon", 1] }),
  "usage.yaml": kind("caps:\n  day_usd: 5", { type: ["caps:\n  day_usd: five", 2], range: ["caps:\n  day_usd: -5", 2] }),
  "local-models.yaml": kind("{}", { type: ["version: '1.0'\nhub: 3", 2], range: ["version: '1.0'\nhub: []", 2] }),
  "oauth.yaml": kind("providers:\n  google:\n    client_id: one", {
    type: ["providers:\n  google:\n    client_id: 5", 3],
    range: ["providers:\n  google:\n    token_endpoint: http://elsewhere.example", 3],
    unknown: ["providers:\n  google:\n    secret: five", 3],
  }),
  "redaction.yaml": kind("kinds: { email: true }", { type: ["kinds:\n  email: 5", 2], range: ["allow:\n  domains: ['-']", 2] }),
  "network.yaml": kind("version: 1\nallow: [example.org]", { type: ["version: 1\nallow: 5", 2], range: ["version: 1\nallow: ['*']", 2] }),
  "sandbox.yaml": kind("cpus: 1", { type: ["cpus: many", 1], range: ["cpus: 0", 1] }),
  "receipts.yaml": kind("keep_days: 30", { type: ["keep_days: long", 1], range: ["keep_days: 0", 1] }),
  "telemetry.yaml": kind("enabled: false", { type: ["enabled: 5", 1], range: ["endpoint: nowhere", 1] }),
  "context.yaml": kind("budget_tokens: 32000", { type: ["budget_tokens: lots", 1], range: ["keep: 0.4\nbudget_tokens: 3", 2] }),
  "memory.yaml": kind("snapshots: 9", { type: ["snapshots: some", 1], range: ["propose: true\nsnapshots: 0", 2] }),
  "checkpoints.yaml": kind("keep_days: 30", { type: ["keep_days: long", 1], range: ["keep_days: 30\nmax_total_bytes: 1", 2] }),
  "tools.yaml": kind("version: 1", { type: ["version: 1\ncapabilities: 5", 2], range: ["version: 7", 1] }),
  "deploy.yaml": kind("version: 1", { type: ["version: 1\nworkspaces: 5", 2], range: ["version: 1\nworkspaces: { there: {} }", 2] }),
};

type Cell = [text: string, line: number];
function kind(valid: string, { type, range, unknown }: { type: Cell; range: Cell; unknown?: Cell }) {
  const cells = { "a value of the wrong type": type, "a value out of range": range, "an unknown key": unknown ?? unknownKey(valid) };
  const wrong = Object.fromEntries(Object.entries(cells).map(([name, [text, line]]) => [name, { text: `${text}\n`, line }]));
  return { valid: `${valid}\n`, wrong };
}
function unknownKey(valid: string): Cell {
  return valid === "{}" ? ["surprise_me: 1", 1] : [`${valid}\nsurprise_me: 1`, valid.split("\n").length + 1];
}

/** What every kind of file can suffer. The line is null where the file has none. */
const faults: Record<string, { write(path: string): void; line: number | null }> = {
  "a folder in its place": { write: (path) => mkdirSync(path), line: null },
  "a link to itself": { write: (path) => symlinkSync(path, path), line: null },
  "no YAML": text("version: 1\nkey: [1, 2\nother: {", 3),
  "a list": text("- one\n- two\n", 1),
  "a text": text("hello\n", 1),
  "duplicate keys": text("version: 1\nversion: 1\n", 2),
  "two documents": text("version: 1\n---\nversion: 1\n", 2),
  "an alias bomb": text(
    `version: 1\na: &a [x]\n${Array.from("bcdefghij")
      .map((name, at) => `${name}: &${name} [${"*" + "abcdefghij"[at]}${`, *${"abcdefghij"[at]}`.repeat(9)}]`)
      .join("\n")}\n`,
    null,
  ),
  "a merge bomb": text(
    `version: 1\nbase: &base { k: 1 }\n${Array.from({ length: 500 }, (_, at) => `k${at}: { <<: *base }`).join("\n")}\n`,
    null,
  ),
  "deep nesting": text("[".repeat(100_000), 1),
  "a long row of dashes": text(`${"- ".repeat(50_000)}x\n`, 1),
  "ten megabytes": text(`# ${"x".repeat(10_000_000)}\n`, 1),
  "UTF-16 with a mark": { write: (path) => writeFileSync(path, Buffer.from("\ufeffversion: 1\n", "utf16le")), line: 1 },
  "UTF-16 without a mark": { write: (path) => writeFileSync(path, Buffer.from("version: 1\n", "utf16le")), line: 1 },
  "bytes that are no text": { write: (path) => writeFileSync(path, Buffer.from([0x76, 0x3a, 0x20, 0xff, 0xfe, 0xfd])), line: 1 },
  "a tab as indentation": text("version: 1\nkey:\n\tinner: 1\n", 3),
};
function text(content: string, line: number | null) {
  return { write: (path: string) => writeFileSync(path, content), line };
}

/** Texts that are fine for every kind of file. */
const fine: Record<string, (valid: string) => string> = {
  "no text": () => "",
  "only a comment": () => "# nothing yet\n",
  "a byte order mark": (valid) => `\ufeff${valid}`,
  "Windows line ends": (valid) => valid.replaceAll("\n", "\r\n"),
};

let root = "";
let host: Host;
const events: unknown[] = [];
const call = { owner: true, signal: new AbortController().signal };
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "lancelot-broken-config-"));
  mkdirSync(join(root, "workspace"));
  mkdirSync(join(root, "data/config"), { recursive: true });
  host = await open();
});
afterAll(async () => {
  await host.close();
  rmSync(root, { recursive: true, force: true });
});

function open(): Promise<Host> {
  return createHost({
    ...{ paths: productPaths(), workspace: join(root, "workspace"), dataDir: join(root, "data"), trusted: true, posture: "supervised" },
    ...{ approvalTimeoutSeconds: 60, canAsk: true, askEditor: null, env: {}, lastEventSeq: () => 0, log: () => undefined },
    emit: (topic, payload) => void (topic === "configuration" && events.push(payload)),
  });
}
const pathOf = (name: string): string => join(root, "data/config", name);
const clear = (name: string): void => rmSync(pathOf(name), { recursive: true, force: true });
const health = () => host.handlers["health.ready"]({}, call);
/** The problem that health names for a file, and whether its reasons contain it too. */
async function told(name: string): Promise<string | null> {
  const { configProblems, degradedReasons } = await health();
  const found = configProblems.find(({ file }) => file === `config/${name}`);
  if (found !== undefined) expect(degradedReasons).toContain(found.message);
  return found?.message ?? null;
}

describe.each(Object.entries(kinds))("config/%s", (name, { valid, wrong }) => {
  it("is silent without a file, and with a valid one", async () => {
    clear(name);
    expect(await told(name)).toBeNull();
    for (const [how, convert] of Object.entries(fine)) {
      writeFileSync(pathOf(name), convert(valid));
      expect([how, await told(name)]).toEqual([how, null]);
    }
    clear(name);
  });

  it("names every fault with the file and the line, and nothing once it is mended", async () => {
    const cases = { ...faults, ...Object.fromEntries(Object.entries(wrong).map(([how, { text: bad, line }]) => [how, text(bad, line)])) };
    for (const [how, { write, line }] of Object.entries(cases)) {
      clear(name);
      write(pathOf(name));
      const message = await told(name);
      expect([how, message]).toEqual([how, expect.stringContaining(`config/${name}`)]);
      if (line !== null) expect([how, message]).toEqual([how, expect.stringMatching(new RegExp(`line ${line}\\b`))]);
      expect(message).not.toContain(root);
      clear(name);
      writeFileSync(pathOf(name), valid);
      expect([how, await told(name)]).toEqual([how, null]);
    }
    clear(name);
  });
});

it("Doctor has a line for each broken file, and none when they are mended", async () => {
  for (const name of Object.keys(kinds)) writeFileSync(pathOf(name), "key: [\n");
  const broken = async () =>
    (await host.handlers["tools.doctor"]({}, call)).items.flatMap(({ id }) =>
      id.startsWith("settings-") ? [id.slice("settings-".length)] : [],
    );
  expect((await broken()).toSorted()).toEqual(Object.keys(kinds).toSorted());
  for (const name of Object.keys(kinds)) clear(name);
  expect(await broken()).toEqual([]);
});

it("tells the editor when a file breaks and when it is mended", async () => {
  const latest = () => JSON.stringify(events.at(-1) ?? null);
  writeFileSync(pathOf("memory.yaml"), "snapshots: [\n");
  await expect.poll(latest).toContain("config/memory.yaml");
  clear("memory.yaml");
  await expect.poll(latest).toBe('{"problems":[]}');
});

it("a host starts on a data folder whose files are all broken", async () => {
  for (const name of Object.keys(kinds)) writeFileSync(pathOf(name), "key: [\n");
  await host.close();
  host = await open();
  const { configProblems } = await health();
  expect(configProblems.map(({ file }) => file).toSorted()).toEqual(
    Object.keys(kinds)
      .map((name) => `config/${name}`)
      .toSorted(),
  );
  for (const name of Object.keys(kinds)) clear(name);
  expect((await health()).configProblems).toEqual([]);
});
