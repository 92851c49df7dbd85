import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { assessIntent } from "../../../agent-server/governance/decide.ts";
import { boundedScope } from "../../../agent-server/governance/policy/policy-finding.ts";
import { type CommandWorkspace, createCommandWorkspace } from "../../support/command-workspace.ts";
import { gateFacts as facts } from "../../support/gate-facts.ts";

let workspace: CommandWorkspace;
beforeAll(async () => {
  workspace = await createCommandWorkspace({ "a.sh": "echo a\n", "b.sh": "echo b\n", "a.py": "print(1)\n", "b.py": "print(2)\n" });
});
afterAll(() => workspace.dispose());

const levels = {
  watched: {},
  "watched, with network": { network: true },
  contained: { containment: "transactional" },
  "contained, with network": { containment: "transactional", network: ["registry.example"] },
  "copied, with network": { containment: "copied", network: true },
} as const;

/** What trust and learned rules are bound to. */
function key(command: string, args: Readonly<Record<string, unknown>>): string {
  const intent = { capability: "shell_exec", action: "run", args: { command, ...args }, mode: "normal" as const };
  return JSON.stringify(assessIntent(intent, facts({ command: (line) => workspace.judge(line) })).trustKey);
}

describe.each(Object.entries(levels))("%s: what was learned of a command", (_level, args) => {
  it.each([
    ["curl https://x.example", "wget https://x.example"],
    ["curl https://x.example", "http GET https://x.example"],
    ["curl https://x.example", "aria2c https://x.example"],
    ["curl https://x.example", "curl https://x.example && wget https://y.example"],
    ["curl https://x.example", "timeout 5 wget https://x.example"],
    ["curl https://x.example", "sh -c 'wget https://x.example'"],
    ["curl https://x.example", "xargs curl"],
    ["npm run lint", "npm publish"],
    ["npm run lint", "npm run build"],
    ["npm run lint", "npm run lint && npm run build"],
    ["npm run lint", "npm install"],
    ["npm run lint", "npm exec lint"],
    ["npm run lint", "npx lint"],
    ["npm run lint", "pnpm run lint"],
    ["npm install", "pnpm install"],
    ["npm install", "yarn install"],
    ["npm install", "npm uninstall x"],
    ["npx eslint .", "npx vitest"],
    ["npx eslint .", "pnpm dlx eslint ."],
    ["pip install x", "pip download x"],
    ["pip install x", "pipx install x"],
    ["pip install x", "cargo install x"],
    ["python3 a.py", "python3 b.py"],
    ["python3 a.py", "python3 -c 'print(1)'"],
    ["python3 a.py", "python3 -m http.server"],
    ["python3 -m pytest", "python3 -m http.server"],
    ["node a.js", "node b.js"],
    ["node a.js", "deno run a.js"],
    ["bash a.sh", "bash b.sh"],
    ["bash a.sh", "sh a.sh"],
    ["./a.sh", "./b.sh"],
    ["./a.sh", "bash a.sh"],
    ["make build", "make clean"],
    ["make build", "make"],
    ["go test ./...", "go run ."],
    ["cargo build", "cargo run"],
    ["git fetch origin", "git pull origin"],
    ["git commit -m x", "git stash"],
    ["docker compose up", "docker compose down"],
    ["docker run alpine", "docker run debian"],
    ["docker build .", "podman build ."],
    ["mvn test", "mvn deploy"],
    ["gradle build", "gradle publish"],
  ])("%s says nothing about %s", (one, other) => {
    expect(key(other, args)).not.toBe(key(one, args));
  });

  it.each([
    ["curl https://x.example/a", "curl -sS https://x.example/b"],
    ["npm run lint", "npm run lint 2>&1 | tail -5"],
    ["pip install x", "pip install y"],
    ["git fetch", "git fetch origin"],
    ["python3 a.py", "python3 a.py 5"],
    ["make build", "make -j4 build"],
  ])("%s is the same as %s", (one, other) => {
    expect(key(other, args)).toBe(key(one, args));
  });
});

describe("what was learned of one place", () => {
  it("says nothing about another place or other hosts", () => {
    const keys = [
      ...Object.values(levels),
      { place: "host" },
      { containment: "transactional", network: ["other.example"] },
      { containment: "transactional", network: ["registry.example", "other.example"] },
      { network: ["registry.example"] },
    ].map((args) => key("npm install", args));
    // The copied and the transactional level contain a command equally.
    expect(new Set(keys).size).toBe(keys.length);
  });
});

it("scopes that begin alike for long are different scopes", () => {
  const long = "x".repeat(500);
  expect(boundedScope(long)).not.toBe(boundedScope(`${long}y`));
  expect(boundedScope(long).length).toBeLessThanOrEqual(120);
  expect(boundedScope("short")).toBe("short");
  const one = { capability: "deploy_ops", action: "build", mode: "normal" } as const;
  const scope = (target: string) => assessIntent({ ...one, args: { target } }, facts({})).trustKey.scope;
  expect(scope(`${long}a`)).not.toBe(scope(`${long}b`));
  expect(key(`./${long}/a`, {})).not.toBe(key(`./${long}/b`, {}));
});
