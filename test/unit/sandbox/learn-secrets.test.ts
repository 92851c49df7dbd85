import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPathPolicy } from "../../../agent-server/governance/policy/path-policy.ts";
import { productPaths } from "../../../agent-server/paths.ts";
import { createSecretLearner } from "../../../agent-server/sandbox/learn-secrets.ts";
import { createKnownSecrets, createRedactor } from "../../../agent-server/security/security.ts";
import { createSecretIndex } from "../../../agent-server/workspace/workspace.ts";

describe("the values of the workspace's secret files", () => {
  let root: string;
  let workspace: string;
  let read: string[];
  let logged: string[];
  let learnSecrets: () => Promise<void>;
  const known = () => createKnownSecrets();
  let redact: (text: string) => string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "learn-secrets-")));
    workspace = join(root, "work");
    mkdirSync(workspace);
    [read, logged] = [[], []];
    const { judgeName, resolve } = createPathPolicy({ workspace, dataDir: join(root, "data"), configDir: productPaths().configDir });
    const index = createSecretIndex({ workspace, governance: { judgeName, resolvePath: resolve }, hidden: [], now: Date.now });
    const secrets = known();
    const redactor = createRedactor({ known: secrets });
    redact = (text) => redactor.text(text).text;
    learnSecrets = createSecretLearner({
      ...{ workspace, index },
      learn: (path, bytes) => {
        read.push(path);
        secrets.learnFile(path, bytes);
      },
      log: (message) => void logged.push(message),
    });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function put(path: string, content: string): void {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), content);
  }
  const value = (at: number) => `zq${at}Vt8nLw3xKp5rYd7h`;

  it("are known from then on, whatever their key, in folders of secrets too, and those that change later", async () => {
    put(".env", `HARMLESS=${value(1)}\n`);
    put("app/.env.test", `A=${value(2)}\n`);
    put(".secrets/deep/token", value(3));
    expect(redact(value(1))).toBe(value(1));
    await learnSecrets();
    for (const at of [1, 2, 3]) expect(redact(`see ${value(at)} here`)).not.toContain(value(at));
    put("app/.env.test", `A=${value(4)}\nB=more\n`);
    put("new/.env", `A=${value(5)}\n`);
    await learnSecrets();
    for (const at of [4, 5]) expect(redact(value(at))).not.toContain(value(at));
    expect(logged).toEqual([]);
  });

  it("are read again only where a file changed", async () => {
    put(".env", `A=${value(1)}\n`);
    put("b/.env", `A=${value(2)}\n`);
    await learnSecrets();
    await learnSecrets();
    expect(read.toSorted()).toEqual([".env", "b/.env"]);
    put(".env", `A=${value(3)}\nB=x\n`);
    await learnSecrets();
    expect(read.filter((path) => path === ".env")).toHaveLength(2);
  });

  it("cannot stop a command: pipes, links and folders with such names teach nothing", async () => {
    execFileSync("mkfifo", [join(workspace, ".env")]);
    mkdirSync(join(workspace, "b/.env"), { recursive: true });
    symlinkSync("/nowhere", join(workspace, ".env.local"));
    put("c/.env", `A=${value(1)}\n`);
    await learnSecrets();
    expect(redact(value(1))).not.toContain(value(1));
    expect(logged).toEqual([]);
  });
});
