import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SecretFiles } from "../../../agent-server/sandbox/secret-masks.ts";
import { createKnownSecrets, createRedactor } from "../../../agent-server/security/security.ts";
import type { OverlayView } from "../../../agent-server/workspace/workspace.ts";
import { secretFilesOf } from "../../support/sandbox/masks.ts";

describe("the values of the workspace's secret files", () => {
  let root: string;
  let workspace: string;
  let read: string[];
  let logged: string[];
  let files: SecretFiles;
  const learnSecrets = () => files.learn();
  const known = () => createKnownSecrets();
  let redact: (text: string) => string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "learn-secrets-")));
    workspace = join(root, "work");
    mkdirSync(workspace);
    [read, logged] = [[], []];
    const secrets = known();
    const redactor = createRedactor({ known: secrets });
    redact = (text) => redactor.text(text).text;
    files = secretFilesOf({
      ...{ workspace, dataDir: join(root, "data") },
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

  it("are known too where they are only in what a task wrote, and found in the search for what is masked", async () => {
    put(".env", `A=${value(1)}\n`);
    const layer = { name: "workspace", lower: workspace };
    const upper = join(root, "data/tasks/one/workspace/upper");
    const view: Pick<OverlayView, "layers" | "upper"> = { layers: [layer], upper: () => upper };
    const write = (path: string, content: string) => {
      mkdirSync(dirname(join(upper, path)), { recursive: true });
      writeFileSync(join(upper, path), content);
    };
    write("made/.env", `A=${value(2)}\n`);
    write(".ssh/id", value(3));
    write("cert.pem", "-----BEGIN CERTIFICATE-----\n");
    write("key.pem", `-----BEGIN PRIVATE KEY-----\n${value(4)}\n`);
    const masked = await files.mask([], view as OverlayView);
    expect(masked.files.toSorted()).toEqual([".env", "key.pem", "made/.env"].map((path) => join(workspace, path)));
    expect(masked.folders).toEqual([join(workspace, ".ssh")]);
    for (const at of [1, 2, 3]) expect(redact(value(at))).not.toContain(value(at));
    expect((await files.mask([])).files).toEqual([join(workspace, ".env")]);
    // Read once: the second search finds nothing new.
    const before = read.length;
    await files.mask([], view as OverlayView);
    expect(read).toHaveLength(before);
  });

  it("are known where commands may read the file", async () => {
    mkdirSync(join(root, "data/config"), { recursive: true });
    writeFileSync(join(root, "data/config/sandbox.yaml"), "readable_secrets: [.env.test]\n");
    put(".env.test", `A=${value(1)}\n`);
    expect(await files.mask([])).toEqual({ files: [], folders: [] });
    expect(redact(value(1))).not.toContain(value(1));
  });
});
