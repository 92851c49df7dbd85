import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Diagnostic } from "vscode-languageserver/node";
import { LancelotError } from "../../../agent-server/contract/errors.ts";
import type { SoulIssue } from "../../../agent-server/contract/soul.ts";
import type { Dispatch } from "../../../agent-server/gateway/dispatch.ts";
import { createLanguageDocuments } from "../../../agent-server/gateway/language/documents.ts";
import { kindOf } from "../../../agent-server/gateway/language/kinds.ts";

const shipped = readFileSync(fileURLToPath(new URL("../../../soul/soul_versions/soul_v1.yaml", import.meta.url)), "utf8");
const soulUri = "untitled:/work/soul_v2%20%28draft%29.yaml";
const modelsUri = "file:///data/config/models.yaml";
const routerUri = "file:///data/config/router.yaml";
const never = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };

interface Published {
  readonly version: number;
  readonly diagnostics: Diagnostic[];
}

function documents(lint: (yaml: string, signal: AbortSignal) => Promise<SoulIssue[]> | SoulIssue[] = () => []) {
  const published: Published[] = [];
  const asked: string[] = [];
  const logged: string[] = [];
  let wake = (): void => undefined;
  const dispatch: Dispatch = async (name, params, { signal }) => {
    asked.push(name);
    const issues = await lint((params as { yaml: string }).yaml, signal);
    return { valid: issues.length === 0, issues };
  };
  const made = createLanguageDocuments({
    publish(_uri, version, diagnostics) {
      published.push({ version, diagnostics });
      wake();
    },
    dispatch: () => dispatch,
    log: (message) => logged.push(message),
    debounceMs: 0,
  });
  const after = async (count: number): Promise<Published[]> => {
    while (published.length < count) await new Promise<void>((resolve) => (wake = resolve));
    return published;
  };
  return { ...made, published, asked, logged, after };
}

async function checked(uri: string, text: string, lint?: (yaml: string) => SoulIssue[]): Promise<Diagnostic[]> {
  const open = documents(lint);
  open.open({ uri, languageId: "yaml", version: 1, text });
  return (await open.after(1))[0]?.diagnostics ?? [];
}

function messageOf(message: Diagnostic["message"]): string {
  return typeof message === "string" ? message : message.value;
}

function brief(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(
    ({ range, severity, code, message }) => `${range.start.line}:${range.start.character} ${severity} ${code} ${messageOf(message)}`,
  );
}

describe("which documents are ours", () => {
  it.each([
    ["lancelot-soul:/soul_v1.yaml", "soul"],
    ["lancelot-soul:/soul_v2.yaml?proposal-1", "soul"],
    ["untitled:/ws/soul_v3%20(run%20%E2%80%9CPropose%20this%20soul%E2%80%9D%20when%20done).yaml", "soul"],
    ["file:///data/soul/soul_versions/soul_v1.yaml", "soul"],
    ["file:///ws/soul.yaml", "soul"],
    [modelsUri, "models"],
    [routerUri, "router"],
    ["file:///ws/my-soul.yaml", null],
    ["file:///ws/soul.yaml.bak", null],
    ["file:///ws/models.yaml", null],
    ["file:///ws/100%.yaml", null],
  ])("%s is %s", (uri, kind) => {
    expect(kindOf(uri)?.name ?? null).toBe(kind);
  });
});

describe("diagnostics", () => {
  it("finds nothing in the soul that ships", async () => {
    expect(await checked(soulUri, shipped)).toEqual([]);
  });

  it.each([
    [
      "a value outside its list",
      shipped.replace("level: autonomous", "level: wild"),
      'Value is not accepted. Valid values: "supervised", "autonomous".',
    ],
    [
      "a wrong type",
      shipped.replace("default_timeout_seconds: 3600", "default_timeout_seconds: soon"),
      'Incorrect type. Expected "integer".',
    ],
    ["a part that is missing", shipped.replace("allegiance: >-", "loyalty: >-"), 'Missing property "allegiance".'],
  ])("says %s as an error of the schema", async (_, text, message) => {
    const found = await checked(soulUri, text);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ severity: 1, code: "schema", source: "Lancelot", message });
  });

  it("reports the position of a YAML syntax error", async () => {
    const found = await checked(soulUri, "version: v1\nmission: [a\n");
    expect(found.some(({ severity, range }) => severity === 1 && range.start.line >= 1)).toBe(true);
  });

  it("adds the host's rules at their places, with the rule as code", async () => {
    const lines = shipped.split("\n");
    const line = lines.findIndex((text) => text.includes("requires_approval:")) + 1;
    const found = await checked(soulUri, shipped, () => [
      { rule: "destructive_actions_require_approval", severity: "critical", message: "Name deleting.", line, column: 3 },
      { rule: "memory_ethics_required", severity: "warning", message: "Say what memory may not hold." },
      { rule: "unknown_term", severity: "warning", message: "Past the end.", line: 9999, column: 40 },
    ]);
    expect(brief(found)).toEqual([
      `${line - 1}:2 1 destructive_actions_require_approval Name deleting.`,
      "0:0 2 memory_ethics_required Say what memory may not hold.",
      `${lines.length - 1}:0 2 unknown_term Past the end.`,
    ]);
    expect(found[0]?.range.end.character).toBe((lines[line - 1] ?? "").length);
  });

  it("does not say the same of a line twice", async () => {
    const text = shipped.replace("level: autonomous", "level: wild");
    const line = text.split("\n").findIndex((messageOf) => messageOf.includes("level: wild")) + 1;
    const found = await checked(soulUri, text, () => [{ rule: "schema", severity: "critical", message: "must be …", line, column: 10 }]);
    expect(found).toHaveLength(1);
  });

  it("fetches no schema that a document names, and checks it by the host's rules all the same", async () => {
    const found = await checked(soulUri, `# yaml-language-server: $schema=https://example.org/any.json\n${shipped}`, () => [
      { rule: "schema", severity: "critical", message: "as the host sees it", line: 4, column: 1 },
    ]);
    expect(found.map(({ message }) => messageOf(message)).join("\n")).toContain("are not fetched");
    expect(found.map(({ message }) => message)).toContain("as the host sees it");
  });

  it("answers for a key without a name, at which the YAML service throws", async () => {
    const open = documents();
    const uri = "file:///data/config/redaction.yaml";
    open.open({ uri, languageId: "yaml", version: 1, text: ": 1\n" });
    await open.after(1);
    expect(await open.hover(uri, { line: 0, character: 1 }, never)).toBeNull();
    expect(await open.complete(uri, { line: 0, character: 1 }, never)).toHaveProperty("items");
  });

  it("still checks syntax and schema while the flag SOUL is off", async () => {
    const open = documents(() => {
      throw new LancelotError("disabled", "The soul is off.");
    });
    open.open({ uri: soulUri, languageId: "yaml", version: 1, text: "version: 3\n" });
    const [first] = await open.after(1);
    expect(first?.diagnostics.length).toBeGreaterThan(0);
    expect(open.logged).toHaveLength(1);
  });

  it.each([
    [modelsUri, "providers:\n  work:\n    kind: nope\n", "openai_compatible"],
    [routerUri, "offline: perhaps\n", '"local", "wait"'],
    [routerUri, "timeouts:\n  first_token_seconds: soon\n", 'Expected "number"'],
  ])("knows the configuration of models and routing: %s", async (uri, text, said) => {
    const open = documents();
    open.open({ uri, languageId: "yaml", version: 1, text });
    const [first] = await open.after(1);
    expect(brief(first?.diagnostics ?? []).join("\n")).toContain(said);
    expect(open.asked).toEqual(["models.lint"]);
  });

  it.each([
    [modelsUri, "providers:\n  anthropic:\n    fast: { max_tokens: 100 }\n"],
    [routerUri, "escalation:\n  triggers:\n    - type: failure\nretries: { tries: 2 }\n"],
    [routerUri, readFileSync(fileURLToPath(new URL("../../../config/router.yaml", import.meta.url)), "utf8")],
    [modelsUri, readFileSync(fileURLToPath(new URL("../../../config/models.yaml", import.meta.url)), "utf8")],
  ])("asks for nothing that the shipped file says already: %s", async (uri, text) => {
    expect(await checked(uri, text)).toEqual([]);
  });

  it("shows the host's issues at their lines", async () => {
    const found = await checked(routerUri, "failover:\n  - nowhere\n", () => [
      { rule: "schema", severity: "warning", message: 'failover.0 names "nowhere".', line: 2 },
    ]);
    expect(brief(found)).toEqual(['1:0 2 schema failover.0 names "nowhere".']);
  });

  it("follows edits, checks only the latest text, and clears diagnostics when the document closes", async () => {
    const waiting: (() => void)[] = [];
    const open = documents(async (_yaml, signal) => {
      // The first check hangs until its text is no longer the last.
      if (waiting.length === 0)
        await new Promise<void>((resolve) => (waiting.push(resolve), signal.addEventListener("abort", () => resolve())));
      return [];
    });
    open.open({ uri: soulUri, languageId: "yaml", version: 1, text: shipped.replace("level: autonomous", "level: wild") });
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const line = shipped.split("\n").findIndex((text) => text.includes("level: autonomous"));
    const start = { line, character: "  level: ".length };
    open.change(soulUri, 2, [{ range: { start, end: { line, character: start.character + 4 } }, text: "supervised" }]);
    expect(await open.after(1)).toEqual([{ version: 2, diagnostics: [] }]);
    open.close(soulUri);
    expect(await open.after(2)).toEqual([
      { version: 2, diagnostics: [] },
      { version: 2, diagnostics: [] },
    ]);
    expect(await open.hover(soulUri, { line: 0, character: 1 }, never)).toBeNull();
  });

  it.each([
    ["is too long", `version: ${"x".repeat(100_001)}\n`],
    ["has too many aliases", "*as a<<: ".repeat(5_000)],
    ["is nested too deeply", `version: ${"- ".repeat(40_000)}`],
    ["has too many brackets", "[".repeat(60_000)],
    ["has too many mistakes", "!!set ".repeat(4_000)],
  ])("says that a document is not checked because it %s, which would take minutes", async (_, text) => {
    expect(await checked(soulUri, text)).toMatchObject([{ code: "unchecked", range: { start: { line: 0 } } }]);
  });
});

describe("completion and hover", () => {
  /** The text with `|` where the cursor is. */
  async function at(uri: string, text: string) {
    const open = documents();
    const before = text.slice(0, text.indexOf("|"));
    const position = { line: before.split("\n").length - 1, character: before.length - before.lastIndexOf("\n") - 1 };
    open.open({ uri, languageId: "yaml", version: 1, text: text.replace("|", "") });
    const list = await open.complete(uri, position, never);
    return {
      labels: (list?.items ?? []).map(({ label }) => label),
      hover: await open.hover(uri, position, never),
      cancelled: await open.hover(uri, position, { ...never, isCancellationRequested: true }),
    };
  }

  it.each([
    ["sections", soulUri, "version: v2\n|\n", ["mission", "autonomy_posture", "tone_invariants"]],
    ["values of a list", soulUri, "autonomy_posture:\n  level: |\n", ["supervised", "autonomous"]],
    ["what may be allowed", soulUri, "autonomy_posture:\n  allowed_autonomous:\n    - |\n", ["read_files", "edit_files", "run_commands"]],
    ["places to be asked", soulUri, "approval_rules:\n  channels:\n    - |\n", ["war_room", "chat", "notification", "terminal"]],
    ["lanes", routerUri, "routing_order:\n  - lane: |\n", ["local_redaction", "local_utility", "flagship_fast", "flagship_deep"]],
    ["settings of routing", routerUri, "|\n", ["failover", "offline", "timeouts", "breaker"]],
    ["triggers", routerUri, "escalation:\n  triggers:\n    - type: |\n", ["risk", "complexity", "failure"]],
    ["kinds of providers", modelsUri, "providers:\n  work:\n    kind: |\n", ["anthropic", "openai_compatible", "local"]],
  ])("offers %s", async (_, uri, text, wanted) => {
    const { labels } = await at(uri, text);
    expect(labels).toEqual(expect.arrayContaining(wanted));
    expect(labels).not.toContain("object");
  });

  it("shows the contract's description of a field", async () => {
    const { hover, cancelled } = await at(soulUri, "autonomy_posture:\n  le|vel: supervised\n");
    expect(JSON.stringify(hover?.contents)).toContain("edits always wait for your review");
    expect(cancelled).toBeNull();
  });

  it.each([
    [routerUri, "fail|over: []\n", "Empty: nothing is sent to another provider."],
    [routerUri, "breaker:\n  fail|ures: 3\n", "Failures in a row"],
    [modelsUri, "providers:\n  work:\n    de|ep: { model: m }\n", "The deep model"],
    [modelsUri, "act|ive: work\n", "The active provider"],
  ])("reports what a setting is for: %s %s", async (uri, text, said) => {
    const { hover } = await at(uri, text);
    expect(JSON.stringify(hover?.contents)).toContain(said);
  });

  it("has nothing to say of a document that is not open", async () => {
    const open = documents();
    expect(await open.complete(soulUri, { line: 0, character: 0 }, never)).toBeNull();
  });
});
