import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCommandPolicy } from "../../../../agent-server/governance/policy/commands/commands.ts";
import { createPathPolicy } from "../../../../agent-server/governance/policy/path-policy.ts";
import { commandCases } from "../../../support/command-cases.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../../../support/command-workspace.ts";
import { processorMs } from "../../../support/processor-time.ts";

let tree: CommandWorkspace;
beforeAll(async () => {
  tree = await createCommandWorkspace();
});
afterAll(() => tree.dispose());

const judge = (command: string, cwd?: string) => tree.judge(command, cwd);
const ids = (command: string, cwd?: string) => judge(command, cwd).rules.map((rule) => rule.id.replace("command.", ""));
const found = (command: string, cwd?: string) => `${judge(command, cwd).verdict} ${judge(command, cwd).tier}`;

describe("parts", () => {
  it("name each simple command in the order it stands, with what it stands in", () => {
    const { parts } = judge("ls | sudo xargs -n 1 wc -l && echo $(date)");
    expect(parts.map((part) => [part.within.join(">"), part.text.split(" ")[0], part.verdict])).toEqual([
      ["pipe", "ls", "allow"],
      ["pipe", "sudo", "ask"],
      ["pipe>sudo", "xargs", "allow"],
      ["pipe>sudo>xargs", "wc", "ask"],
      ["$(…)", "date", "allow"],
      ["", "echo", "allow"],
    ]);
    expect(parts.every((part) => part.rule.source === "policy" && part.rule.id.startsWith("command."))).toBe(true);
  });

  it("reach through nested shells, quoting and here-documents", () => {
    const command = `bash -c "env CI=1 sh -c 'timeout 5 bash <<< \\"git push --force\\"'"`;
    const judged = judge(command);
    const push = judged.parts.find((part) => part.text.startsWith("git push"));
    expect(push?.within).toEqual(["bash -c", "env", "sh -c", "timeout", "bash <"]);
    expect(judged.riskLevel).toBe("critical");
    expect(judged.scope).toBe("git.push-force");
  });

  it("shorten what is very long", () => {
    expect(judge(`echo ${"x".repeat(10_000)}`).parts[0]?.text.length).toBeLessThan(2100);
  });
});

describe("the judgement", () => {
  it("is that of the strictest command and carries the tags of all", () => {
    const judged = judge("ls; npm install left-pad; git push");
    expect([judged.verdict, judged.tier]).toEqual(["ask", "T3"]);
    expect(judged.scope).toBe("git.push");
    expect(judged.rules.map((rule) => rule.id)).toEqual(["command.git.push", "command.packages.install"]);
    expect(judged.tags).toEqual(expect.arrayContaining(["shell", "read", "install", "push", "network"]));
    expect(judged.alternatives).toContain("Commit, and let the owner push.");
  });

  it("of what runs without asking names a rule for each command and offers nothing else", () => {
    const judged = judge("git status && npm test | tail -5");
    expect([judged.verdict, judged.tier, judged.riskLevel]).toEqual(["allow", "T2", "low"]);
    expect(judged.rules.map((rule) => rule.id)).toEqual(["command.git.read", "command.packages.test", "command.read"]);
    expect(judged.alternatives).toEqual([]);
  });

  it.each(["", "   ", "\n", "# a comment", "\t#"])("of nothing (%j) is asked", (command) => {
    expect(judge(command)).toEqual({
      verdict: "ask",
      tier: "T3",
      riskLevel: "high",
      rules: [{ id: "command.empty", source: "policy", message: expect.any(String) as string }],
      alternatives: [expect.any(String)],
      scope: "empty",
      tags: ["shell"],
      programs: [],
      parts: [],
      code: null,
    });
  });

  it("never throws, and denies when paths cannot be looked up", () => {
    const broken = createCommandPolicy({
      configDir: tree.configDir,
      workspace: tree.workspace,
      resolvePath: () => {
        throw new Error("disk");
      },
    });
    expect(broken.judge("cat a", undefined)).toEqual({
      verdict: "deny",
      tier: "T3",
      riskLevel: "critical",
      rules: [{ id: "command.failed", source: "policy", message: expect.any(String) as string }],
      alternatives: [expect.any(String)],
      scope: "failed",
      tags: ["shell"],
      programs: [],
      parts: [],
      code: null,
    });
  });
});

describe("a policy without its deps", () => {
  it("has a sentence for a path whose rule is not explained, and looks up each name of a search", () => {
    const paths = createPathPolicy({ ...tree, platform: "linux" });
    const plain = createCommandPolicy({ configDir: tree.configDir, workspace: tree.workspace, resolvePath: paths.resolve });
    expect(plain.problem).toBe(null);
    expect(plain.judge("cat .env", undefined).rules[0]?.message).toContain("(secret.env)");
    expect(plain.judge("grep -r x app", undefined).scope).toBe("secret-search");
    expect(plain.judge("grep -r x src", undefined).verdict).toBe("allow");
    expect(plain.judge("rm -rf ~", undefined).verdict).not.toBe("allow");
  });

  it("and without a workspace knows no folder", () => {
    const nowhere = createCommandPolicy({
      configDir: tree.configDir,
      workspace: null,
      resolvePath: createPathPolicy({ ...tree, workspace: null, platform: "linux" }).resolve,
    });
    expect(nowhere.judge("ls", undefined).scope).toBe("unknown-folder");
    expect(nowhere.judge("echo a", undefined).verdict).toBe("allow");
  });

  it("or with a table that cannot be read denies every command and says why", () => {
    const torn = createCommandPolicy({
      configDir: join(tree.base, "nowhere"),
      workspace: tree.workspace,
      resolvePath: createPathPolicy({ ...tree, platform: "linux" }).resolve,
    });
    const why = torn.problem;
    expect(torn.version).toBe("");
    expect(why).toContain("config/commands");
    expect(torn.judge("ls", undefined)).toEqual({
      verdict: "deny",
      tier: "T3",
      riskLevel: "critical",
      rules: [{ id: "command.table-failed", source: "policy", message: why }],
      alternatives: [expect.any(String)],
      scope: "table-failed",
      tags: ["shell"],
      programs: [],
      parts: [],
      code: null,
    });
  });
});

describe("bounds", () => {
  it("judge the 1001st simple command like the first", () => {
    const many = Array.from({ length: 1000 }, () => "true").join("; ");
    expect(judge(many).verdict).toBe("allow");
    expect(judge(`${many}; rm -rf /`).verdict).toBe("deny");
    expect(judge(many).parts).toHaveLength(1000);
  });

  it("do not allow past the cap, however harmless the start", () => {
    const many = Array.from({ length: 4100 }, () => "true").join("; ");
    expect(found(many)).toBe("ask T3");
    expect(ids(many)).toContain("too-many");
    expect(ids(`echo ${"a".repeat(60_000)}`)).toEqual(["too-large"]);
    const deep = `${"$(".repeat(40)}true${")".repeat(40)}`;
    expect(judge(`echo ${deep}`).verdict).toBe("ask");
    expect(judge(`cat {${Array.from({ length: 300 }, (_, index) => index).join(",")}}`).verdict).toBe("ask");
  });

  it("stand at 50,000 characters, 4,000 commands and 24 levels exactly", () => {
    const long = (length: number) => `echo ${"a".repeat(length - "echo ".length)}`;
    expect(judge(long(50_000)).verdict).toBe("allow");
    expect(judge(long(50_001)).rules).toEqual([
      { id: "command.too-large", source: "policy", message: expect.stringContaining("50000") as string },
    ]);
    expect(judge(long(50_001)).alternatives).toHaveLength(1);
    const many = (count: number) => Array.from({ length: count }, () => ":").join(";");
    expect(judge(many(4000)).verdict).toBe("allow");
    expect(judge(many(4000)).parts).toHaveLength(4000);
    const over = judge(many(4002));
    expect(over.parts).toHaveLength(4001);
    expect(over.parts.at(-1)).toEqual({
      text: "…",
      within: [],
      verdict: "ask",
      tier: "T3",
      rule: { id: "command.too-many", source: "policy", message: expect.any(String) as string },
    });
    for (const [open, close] of [
      ["( ", ")"],
      ["{ ", ";}"],
      ["if ", "; then :; fi"],
      ["echo $(", ")"],
      ["eval ", ""],
      ["sudo ", ""],
      ["sh -c ls; while :; do ", "; done"],
    ] as const) {
      const nested = (depth: number) => `${open.repeat(depth)}ls${close.repeat(depth)}`;
      expect(ids(nested(23)), open).not.toContain("too-deep");
      expect(ids(nested(26)), open).toContain("too-deep");
    }
  });

  it("keep what is told short: fifty rules, ten alternatives, two thousand characters of a part", () => {
    const deletes = Array.from({ length: 60 }, (_, index) => `rm f${index}`).join(";");
    expect(judge(deletes).rules).toHaveLength(50);
    const asked = commandCases.filter(({ file, cwd }) => file === "everyday-asked" && cwd === undefined).map(({ command }) => command);
    expect(judge(asked.join("\n")).alternatives).toHaveLength(10);
    expect(judge(`rm f; rm f; rm f`).rules).toHaveLength(2);
    const part = (length: number) => judge(`echo ${"x".repeat(length - "echo ".length)}`).parts[0]?.text;
    expect(part(2000)).toHaveLength(2000);
    expect(part(2001)).toBe(`echo ${"x".repeat(1995)}…`);
  });

  it("hold for loops within loops and functions that call each other, within a second", () => {
    const loops = `${"for i in 1 2; do x=$x; ".repeat(14)}true${"; done".repeat(14)}`;
    const functions = Array.from({ length: 30 }, (_, index) => `f${index}() { f${index + 1}; f${index + 1}; }`).join("; ");
    const started = processorMs();
    judge(loops);
    judge(`${functions}; f0`);
    judge(`a() { b; a; }; b() { a; b; }; a`);
    expect(processorMs() - started).toBeLessThan(5000);
  });
});

describe("what a shell and a reader could take differently", () => {
  it.each([
    ["ls\rrm -rf src", "control-character"],
    ["ls\0", "control-character"],
    ["ls \u001b[2K", "control-character"],
    ["ls \u202Etxt", "invisible"],
    ["l\u200Bs", "invisible"],
    ["ls \uD800", "encoding"],
  ])("%j is denied", (command, rule) => {
    expect(found(command)).toBe("deny T3");
    expect(ids(command)).toEqual([rule]);
  });

  it.each(["ls\u00A0-la", "cat \uFF0Fetc", "git \u2013\u2013version", "cat p\u0430ckage.json"])("%j is asked", (command) => {
    expect(ids(command)).toContain("lookalike");
  });

  it.each(["git log --grep '—'", "echo 'Füße, 日本語 — „x“'", "cat docs/Übersicht.md", "grep -n Привет src/main.ts"])(
    "%j is ordinary",
    (command) => {
      expect(found(command)).toBe("allow T2");
    },
  );

  it.each(["ls )", "echo 'a", "if true; then ls", "ls &&", "for", "case x in", "cat <<E\nx", "$(ls"])("%j cannot be read", (command) => {
    expect(judge(command).verdict).not.toBe("allow");
  });
});

describe("folders", () => {
  it("follow cd into each command after it", () => {
    expect(found("cd src && cat main.ts")).toBe("allow T2");
    expect(ids("cd src && cat ../.env")).toContain("secret");
    expect(ids("cat ../.env", "src")).toContain("secret");
    expect(ids("cd src; cd ..; cat .env")).toContain("secret");
  });

  it("are left with the subshell, the pipe or the background they were entered in", () => {
    expect(ids("(cd src); cat .env")).toContain("secret");
    expect(ids("cd src | true; cat .env")).toContain("secret");
    expect(ids("{ cd src; }; cat ../.env")).toContain("secret");
  });

  it("may be either one when cd may not have run", () => {
    expect(ids("false && cd src; cat .env")).toContain("secret");
    expect(ids("false && cd src; cat ../.env")).toContain("secret");
    expect(ids("if true; then cd src; fi; cat .env")).toContain("secret");
    expect(ids("cd not-there; cat .env")).toContain("secret");
  });

  it("outside the workspace or unknown are asked", () => {
    for (const command of ["cd .. && ls", "cd / && git status", 'cd "$X" && ls', "cd - && ls", "while true; do cd ..; ls; done"]) {
      expect(judge(command).verdict, command).not.toBe("allow");
    }
    expect(judge("ls", "/").verdict).toBe("ask");
  });

  it("given by a flag are those of that command alone", () => {
    expect(found("git -C src status")).toBe("allow T2");
    expect(judge("git -C .. status").verdict).toBe("ask");
    expect(ids("git -C src diff ../.env")).toContain("secret");
    expect(ids("git -C src status; cat .env")).toContain("secret");
  });
});

describe("variables", () => {
  it.each([
    ["f=.env; cat $f", "secret"],
    ['f=.env; cat "$f"', "secret"],
    ['for f in src/main.ts .env; do cat "$f"; done', "secret"],
    ["for f in .e*; do cat $f; done", "secret"],
    ["x=.env; [ -n a ] && x=a; cat $x", "secret"],
    ["X=rm; $X -rf src", "computed-name"],
    ["${X:-rm} a", "computed-name"],
    ["cat $UNKNOWN", "variable"],
    ["echo $GITHUB_TOKEN", "secret-variable"],
    ["echo ${x@P}", "transform"],
    ["echo ${!x}", "indirect"],
    ["echo $((a[$(id)]))", "arithmetic-runs"],
    ["echo ${a[$(id)]}", "arithmetic-runs"],
    ["x=$(cat list.txt); echo $((x))", "arithmetic"],
    ["PATH=/tmp ls", "changes-execution"],
    ["GIT_PAGER=./x git log", "changes-execution"],
    ["FOO=1 npm test", "environment"],
  ])("%s: %s", (command, rule) => {
    expect(judge(command).verdict).not.toBe("allow");
    expect(ids(command).concat(judge(command).parts.map((part) => part.rule.id.replace("command.", "")))).toContain(rule);
  });

  it.each([
    'for f in src/*.ts; do wc -l "$f"; done',
    'd=src; ls "$d"',
    "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
    "for ((i=0; i<3; i++)); do echo $i; done",
    "CI=1 NODE_ENV=test npm test",
    "PAGER=cat git log",
    'echo "$PWD $HOME $USER $?"',
  ])("%s runs without asking", (command) => {
    expect(found(command)).toBe("allow T2");
  });
});

describe("files", () => {
  it.each([
    ["echo a > out.log", "allow T2"],
    ["echo a > result.txt", "allow T2"],
    ["echo a > src/main.ts", "ask T2"],
    ["echo a >> src/main.ts", "ask T2"],
    ["echo a > src/new.ts", "ask T2"],
    ["echo a > Makefile", "ask T2"],
    ["echo a > .env", "ask T3"],
    ["echo a > .git/hooks/pre-commit", "ask T3"],
    ["echo a > ../x.txt", "ask T3"],
    ["echo a > /dev/null 2>&1", "allow T2"],
    ["echo a > /dev/sda", "deny T3"],
    ["echo a > /dev/tcp/10.0.0.1/80", "deny T3"],
    ["sort -o src/main.ts a", "ask T2"],
    ["mkdir -p a/b", "allow T2"],
    ["touch src/new.ts", "allow T2"],
    ["touch ../x", "ask T3"],
    ["cat < .env", "deny T3"],
    ["cat .env*", "deny T3"],
    ["cat .[e]nv", "deny T3"],
    ["cat {.env,package.json}", "deny T3"],
    ["ls -la .env", "allow T2"],
    ["cp .env x.txt", "deny T3"],
    ["mv .env x.txt", "deny T3"],
    ["ln -s .env x.txt", "deny T3"],
    ["git add .env", "deny T3"],
    ["git show HEAD:.env", "deny T3"],
    ["grep KEY .env", "deny T3"],
    ["grep -r KEY .", "ask T3"],
    ["grep -rn foo src", "allow T2"],
    ["rg foo", "allow T2"],
    ["cat /etc/os-release", "allow T2"],
    ["cat /etc/passwd", "ask T3"],
    ["cat ~/notes.txt", "ask T3"],
    ["rm src/main.ts", "ask T3"],
    ["rm -rf dist", "ask T2"],
    ["rm -rf src", "ask T3"],
    ["rm -rf .", "deny T3"],
    ["rm -rf *", "deny T3"],
    ["rm -rf ~", "deny T3"],
    ["rm -rf $HOME/", "deny T3"],
    ["find . -delete", "deny T3"],
    ["find . -name '*.pyc' -delete", "ask T3"],
    ["chmod -R 777 ~", "deny T3"],
    ["echo x > {data}/lancelot.db", "deny T3"],
    ["echo x > {config}/paths.yaml", "deny T3"],
  ])("%s: %s", (command, expected) => {
    expect(found(command)).toBe(expected);
  });

  it("names the path rule that makes a file secret", () => {
    expect(judge("cat .env").rules[0]?.message).toContain("secret.env");
  });
});

describe("scripts of the project", () => {
  it("are looked at where a package script or a recipe is run by its name", () => {
    expect(found("npm test")).toBe("allow T2");
    expect(found("npm run nuke")).toBe("deny T3");
    expect(found("make test")).toBe("allow T2");
    expect(judge("make evil").verdict).not.toBe("allow");
  });

  it("that cannot be read are asked", () => {
    const folder = join(tree.workspace, "packages/torn");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "scripts": ');
    expect(judge("npm test", "packages/torn").verdict).toBe("ask");
    expect(ids("npm test", "packages/torn")).toContain("packages.unreadable");
    writeFileSync(join(folder, "package.json"), '{ "scripts": { "test": "npm test", "pretest": "npm run test" } }');
    expect(judge("npm test", "packages/torn").verdict).toBe("allow");
  });
});

it("judges an ordinary command in far less than a millisecond", () => {
  const commands = ["git status", "ls -la src | head", "npx tsc --noEmit", "cargo check", "grep -n foo src/main.ts"];
  for (let round = 0; round < 50; round += 1) for (const command of commands) judge(command);
  const times: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    for (const command of commands) {
      const from = processorMs();
      judge(command);
      times.push(processorMs() - from);
    }
  }
  // The measured p50 stands in test/bench; this only notices when it is lost altogether.
  expect(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]).toBeLessThan(1);
});
