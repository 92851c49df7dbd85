/** One row of the OWASP lists of docs/security.md: a guard of the product, and the test that fails without it. */
export interface Guard {
  readonly row: string;
  /** The source that has the guard. */
  readonly file: string;
  /** Text that stands in it exactly once, and what takes its place when the guard is removed. */
  readonly guard: string;
  readonly removed: string;
  readonly test: string;
}

/** Each removal is one change of a line, so that what fails is the guard and not the program. */
export const guards: readonly Guard[] = [
  {
    row: "LLM01",
    file: "agent-server/security/data-fence.ts",
    guard: 'const inside = text.replaceAll(marker, "[mark]");',
    removed: "const inside = text;",
    test: "test/unit/context/fence.test.ts",
  },
  {
    row: "LLM02",
    file: "agent-server/security/redactor.ts",
    guard: "const result = replaceSecrets(replaceKnown(value, known?.find(value) ?? [], found), found);",
    removed: "const result = replaceKnown(value, known?.find(value) ?? [], found);",
    test: "test/unit/security/redactor.test.ts",
  },
  {
    row: "LLM03",
    file: "agent-server/models/local/verify.ts",
    guard: 'const right = hash.digest("hex") === sha256;',
    removed: "const right = true;",
    test: "test/unit/models/local/verify.test.ts",
  },
  {
    row: "LLM04",
    file: "agent-server/memory/gates/injection-gate.ts",
    guard: "if (!verified)",
    removed: "if (verified && !verified)",
    test: "test/unit/memory/gates/gates.test.ts",
  },
  {
    row: "LLM05",
    file: "webviews/shared/markdown/sanitize.ts",
    guard: "if (/^https:\\/\\//i.test(trimmed)) {",
    removed: "if (/^[a-z]+:/i.test(trimmed)) {",
    test: "test/unit/webviews/markdown.test.tsx",
  },
  {
    row: "LLM06",
    file: "agent-server/execution/grants.ts",
    guard: "governance.redeem(grant.authorization, intentOf(step, context));",
    removed: "void step;",
    test: "test/unit/execution/recheck-before-effect.test.ts",
  },
  {
    row: "LLM07",
    file: "agent-server/context/instruction-files.ts",
    guard: "const text = redactor.text(read.text).text.trim();",
    removed: "const text = read.text.trim();",
    test: "test/unit/context/context.test.ts",
  },
  {
    row: "LLM08",
    file: "agent-server/memory/search/search-candidates.ts",
    guard: "AND (@questId IS NULL OR m.tier <> 'working' OR m.namespace NOT LIKE 'quest:%' OR m.namespace = 'quest:' || @questId)",
    removed: "AND (@questId IS NULL OR 1)",
    test: "test/unit/memory/search/memory-search.test.ts",
  },
  {
    row: "LLM09",
    file: "agent-server/turn/answer-checks.ts",
    guard: "const unmentioned = tone.noSilentFailure ? unmentionedFailures(since, answer) : [];",
    removed: "const unmentioned = since.length < 0 ? unmentionedFailures(since, answer) : [];",
    test: "test/unit/turn/answer-checks.test.ts",
  },
  {
    row: "LLM10",
    file: "agent-server/models/usage/admission.ts",
    guard: "if (spent + held + most <= fromUsd(limitUsd)) return;",
    removed: "if (spent + held + most >= 0) return;",
    test: "test/unit/models/usage/caps.test.ts",
  },
  {
    row: "ASI01",
    file: "agent-server/security/sanitizer.ts",
    guard: "return { allowed: findings.length === 0, findings, normalized: forms.shown };",
    removed: "return { allowed: findings.length >= 0, findings, normalized: forms.shown };",
    test: "test/unit/security/sanitizer.test.ts",
  },
  {
    row: "ASI02",
    file: "agent-server/governance/policy/commands/command-paths.ts",
    guard: 'if (resolved.sensitive === "secret" && !isListed) return [secretRead(path, resolved.rule, context)];',
    removed: "",
    test: "test/unit/governance/policy/command-judgements.test.ts",
  },
  {
    row: "ASI03",
    file: "agent-server/gateway/dispatch.ts",
    guard: 'if (method.access === "owner" && !call.owner) {',
    removed: 'if (method.access === "owner" && name === "") {',
    test: "test/unit/gateway/dispatch.test.ts",
  },
  {
    row: "ASI04",
    file: "agent-server/workspace/git/git-settings.ts",
    guard: '["core.fsmonitor", "false"],',
    removed: "",
    test: "test/unit/workspace/git.test.ts",
  },
  {
    row: "ASI05",
    file: "agent-server/governance/policy/commands/shell-script.ts",
    guard: "if (script === undefined || (script.errors?.length ?? 0) > 0)",
    removed: "if (script === undefined)",
    test: "test/unit/governance/policy/command-judge.test.ts",
  },
  {
    row: "ASI06",
    file: "agent-server/memory/gates/quarantine-gate.ts",
    guard: 'if (!edit.target.startsWith("core:") || author.by === "owner") return why;',
    removed: "if (author.by !== null) return why;",
    test: "test/unit/memory/gates/gates.test.ts",
  },
  {
    row: "ASI07",
    file: "agent-server/security/owner-gate.ts",
    guard: "timingSafeEqual(digest(presented), expected)",
    removed: "digest(presented).length === expected.length",
    test: "test/unit/security/owner-gate.test.ts",
  },
  {
    row: "ASI08",
    file: "agent-server/tools/routing/provider-health.ts",
    guard: "if (state.cooldownUntil !== null || (!state.onProbation && state.failures < threshold)) return;",
    removed: "if (state.failures > 0) return;",
    test: "test/unit/tools/health.test.ts",
  },
  {
    row: "ASI09",
    file: "webviews/shared/approval-keys.ts",
    guard: " || msSinceShown < ignoreKeysMs",
    removed: "",
    test: "test/unit/webviews/keys.test.ts",
  },
  {
    row: "ASI10",
    file: "agent-server/receipts/verify.ts",
    guard: " || !isWhole(row, body)",
    removed: "",
    test: "test/unit/receipts/verify.test.ts",
  },
];

/** The source without the guard. @throws Error when the guard does not stand in it once: then the row has to follow the source */
export function withoutGuard({ row, file, guard, removed }: Guard, source: string): string {
  const parts = source.split(guard);
  if (parts.length !== 2) throw new Error(`${row}: ${file} has its guard ${parts.length - 1} times instead of once: ${guard}`);
  return parts.join(removed);
}
