import { preparsePolicySet, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs";
import { parse } from "unbash";
import type { Intent } from "../../agent-server/contract/governance.ts";
import { createCommandWorkspace } from "../support/command-workspace.ts";
import { createGovernanceFixture } from "../support/governance-fixture.ts";
import type { BenchRow } from "./bench-row.ts";

const rounds = 60;
const warmUp = 20;

/** What developers and agents run all day. */
const ordinary = [
  "git status",
  "git status --short && git diff --stat",
  "git log --oneline -20",
  "git diff HEAD~1 -- src",
  "git show HEAD:src/main.ts",
  "git branch --show-current",
  "git rev-parse --abbrev-ref HEAD",
  "git blame -L 10,20 src/main.ts",
  "ls -la src | head",
  "ls",
  "cat package.json",
  "cat src/main.ts src/util.ts | wc -l",
  "head -n 40 src/main.ts",
  "tail -5 logs/app.log",
  "sed -n '1,80p' src/main.ts",
  "grep -n createServer src/main.ts",
  "grep -E 'foo|bar' src/util.ts | sort | uniq -c | sort -rn | head",
  "find src -name '*.ts'",
  "wc -l src/main.ts",
  "pwd",
  "echo done",
  "which node",
  "node --version",
  "npm test",
  "npm run build 2>&1 | tail -20",
  "npm run lint",
  "npx tsc --noEmit",
  "npx vitest run src/x.test.ts",
  "npx eslint src",
  "cargo check",
  "cargo test parser::tests 2>&1 | tail -30",
  "cargo clippy --all-targets -- -D warnings",
  "go build ./... && go vet ./... && go test ./...",
  "python -m pytest -q",
  "pytest tests/test_a.py -q -x",
  "ruff check .",
  "make test",
  "cd src && ls -la",
  'for f in src/main.ts src/util.ts; do wc -l "$f"; done',
  "if [ -f package.json ]; then jq -r .name package.json; fi",
  "mkdir -p dist && npm run build > build.log 2>&1; tail -5 build.log",
  "git diff --name-only | grep '.ts$' | head -5",
];

/**
 * The command policy over ordinary command lines, parsing and looking up paths included, against the bare parser and against a
 * general policy engine that only compares attributes; and a kept T0 decision against the same engine. Microseconds a judgement.
 */
export async function run(): Promise<BenchRow[]> {
  if (preparsePolicySet("gate", { staticPolicies: policies }).type !== "success")
    throw new Error("The policy engine beside did not take its policies.");
  const tree = await createCommandWorkspace();
  const fixture = createGovernanceFixture();
  try {
    const judged = times(ordinary, (command) => tree.judge(command));
    const parsed = times(ordinary, (command) => parse(command));
    const engine = times(ordinary, (command) => statefulIsAuthorized(request("shell_exec", "run", { command })));
    const status: Intent = { capability: "repo_ops", action: "status", args: {}, mode: "normal" };
    const { evaluate } = fixture.governance;
    const many = Array.from({ length: 200 }, () => status);
    const kept = batches(many, evaluate);
    const engineStatus = times(many.slice(0, 50), () => statefulIsAuthorized(request("repo_ops", "status", {})));
    const denied = statefulIsAuthorized(request("shell_exec", "run", { command: "rm -rf /" }));
    if (denied.type !== "success" || denied.response.decision !== "deny") throw new Error("The policy engine beside did not decide.");
    return [
      row("ordinary command judged, p50", at(judged, 0.5), at(engine, 0.5), "bare: cedar-wasm over its text, policies parsed before"),
      row("ordinary command judged, p95", at(judged, 0.95), at(engine, 0.95), "bare: cedar-wasm over its text, policies parsed before"),
      row("ordinary command judged, p50, beside its parser", at(judged, 0.5), at(parsed, 0.5), "bare: unbash alone"),
      row("T0 decision from the cache, p50", at(kept, 0.5), at(engineStatus, 0.5), "bare: cedar-wasm, policies parsed before"),
    ];
  } finally {
    fixture.dispose();
    tree.dispose();
  }
}

const policies = `
permit (principal, action == Action::"status", resource);
permit (principal, action == Action::"run", resource) when { context.command like "git status*" || context.command like "npm *" || context.command like "cargo *" || context.command like "ls*" };
forbid (principal, action == Action::"run", resource) when { context.command like "*rm -rf*" || context.command like "*sudo *" };
forbid (principal, action, resource) unless { context.trusted };
`;

function request(capability: string, action: string, args: Record<string, string>): Parameters<typeof statefulIsAuthorized>[0] {
  return {
    principal: { type: "Agent", id: "lancelot" },
    action: { type: "Action", id: action },
    resource: { type: "Capability", id: capability },
    context: { trusted: true, command: "", ...args },
    preparsedPolicySetId: "gate",
    entities: [],
  };
}

/** Microseconds of each single call, after a warm-up. */
function times<T>(items: readonly T[], work: (item: T) => unknown): number[] {
  for (let round = 0; round < warmUp; round += 1) for (const item of items) work(item);
  const found: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const item of items) {
      const from = performance.now();
      work(item);
      found.push((performance.now() - from) * 1000);
    }
  }
  return found;
}

/** As `times`, a mean over each round: single calls are shorter than the clock's step. */
function batches<T>(items: readonly T[], work: (item: T) => unknown): number[] {
  const found: number[] = [];
  for (let round = 0; round < rounds + warmUp; round += 1) {
    const from = performance.now();
    for (const item of items) work(item);
    if (round >= warmUp) found.push(((performance.now() - from) * 1000) / items.length);
  }
  return found;
}

function at(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

function row(name: string, ours: number, bare: number, note: string): BenchRow {
  return { name, ours, bare, ratio: ours / bare, unit: "µs", note };
}
