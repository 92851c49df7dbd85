import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, linkSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { hostname, networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { put } from "../tools/git-fixture.ts";

/** A workspace with secrets, and around it what a hostile command would like to reach. */
export interface World {
  readonly base: string;
  /** A repository with sources, a nested repository, secret files and a hard link to one. */
  readonly workspace: string;
  /** Beside the workspace: another repository, and a file with a secret. */
  readonly outside: string;
  readonly home: string;
  /** Below /tmp, writable by everybody. Its `bin` is first in the PATH of the programs that run outside. */
  readonly trap: string;
  readonly dataDir: string;
  /** The home folder of the programs that run outside while commands run. */
  readonly onlookerHome: string;
  /** Exists once something planted was run outside of the sandbox. */
  readonly marker: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  /** The machine's own address on its network. */
  readonly address: string;
  /** Every secret, by the place where it is. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Makes the workspace what it was first. */
  renew(): void;
  /** Replaces the names of places in a command. */
  fill(command: string, more: Readonly<Record<string, string>>): string;
  close(): void;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const randomSecret = (length = 40): string => [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length] ?? "").join("");

const places = [
  ...["env", "env of an app", "credentials", "private key", "ssh key", "yaml", "cloud", "registry", "kubernetes", "database"],
  ...["environment", "home", "outside", "sibling", "data"],
] as const;

/** @param name ends the names of its folders, so that a process or a mount can be found by it */
export function createWorld(): World {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-contained-")));
  const trap = realpathSync(mkdtempSync(join("/tmp", "trap-")));
  const secrets = Object.fromEntries(places.map((place) => [place, randomSecret()])) as Record<(typeof places)[number], string>;
  const [workspace, outside, home, dataDir] = ["proj", "proj-evil", "home", "data"].map((name) => join(base, name)) as [
    string,
    string,
    string,
    string,
  ];
  const [onlookerHome, template] = [join(base, "onlooker"), join(base, "template")];
  for (const folder of [workspace, outside, home, dataDir, onlookerHome, join(trap, "bin")]) mkdirSync(folder, { recursive: true });
  const owner = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

  fillOutside({ outside, home, dataDir, trap, secrets });
  fillWorkspace(template, secrets, home);
  for (const path of [template, outside, home, onlookerHome, trap]) giveTo(path, owner);
  // Readable and writable by everybody: only the sandbox stands before them, not their permissions.
  for (const path of [base, outside, home]) chmodSync(path, 0o755);
  for (const path of [trap, join(trap, "bin")]) chmodSync(path, 0o777);

  const renew = (): void => {
    // The folder itself stays, because a program that watches it would see no more changes.
    const refill = 'chmod -R u+rwX "$1" 2>/dev/null; find "$1" -mindepth 1 -maxdepth 1 -exec rm -rf {} + && cp -a "$2/." "$1"';
    execFileSync("sh", ["-c", refill, "sh", workspace, template]);
  };
  renew();
  const marker = join(trap, "executed");
  const address =
    Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ internal, family }) => !internal && family === "IPv4")?.address ?? "127.0.0.1";
  return {
    ...{ base, workspace, outside, home, trap, dataDir, onlookerHome, marker, owner, address, secrets, renew },
    fill: (command, more) =>
      Object.entries({
        ...{ workspace, outside, home, trap, data: dataDir, address, pid: String(process.pid), host: hostname() },
        payload: `touch ${marker}`,
        ...more,
      }).reduce((text, [name, value]) => text.replaceAll(`{${name}}`, value), command),
    close() {
      for (const folder of [base, trap]) {
        execFileSync("sh", ["-c", 'chmod -R u+rwX "$1" 2>/dev/null; true', "sh", folder]);
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

function giveTo(path: string, owner: World["owner"]): void {
  for (const entry of [path, ...readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name))])
    if (!lstatSync(entry).isSymbolicLink()) chownSync(entry, owner.uid, owner.gid);
}

type Secrets = Readonly<Record<(typeof places)[number], string>>;

function fillOutside(of: { outside: string; home: string; dataDir: string; trap: string; secrets: Secrets }): void {
  const { outside, home, dataDir, secrets } = of;
  put(join(outside, "secret.txt"), `${secrets.outside}\n`, 0o644);
  put(join(outside, "repo/README.md"), "Another repository.\n");
  put(join(outside, "repo/.env"), `TOKEN=${secrets.sibling}\n`, 0o644);
  put(join(outside, "writable.sh"), "#!/bin/sh\nexit 0\n", 0o777);
  gitIn(join(outside, "repo"), home, ["init", "-q", "-b", "main"], ["add", "README.md"], ["commit", "-qm", "Other"]);
  put(join(home, ".ssh/id_rsa"), `-----BEGIN OPENSSH PRIVATE KEY-----\n${secrets.home}\n-----END OPENSSH PRIVATE KEY-----\n`, 0o644);
  put(join(home, ".bashrc"), "# empty\n");
  put(join(home, ".aws/credentials"), `[default]\naws_secret_access_key = ${secrets.home}\n`, 0o644);
  put(join(home, ".config/autostart/README"), "empty\n");
  put(join(dataDir, "config/notes.txt"), `${secrets.data}\n`, 0o644);
}

function fillWorkspace(at: string, secrets: Secrets, home: string): void {
  const files: Record<string, string> = {
    "package.json": `${JSON.stringify({ name: "proj", version: "1.0.0", private: true, scripts: { noop: "true", test: "node --test", build: "make" } }, null, 2)}\n`,
    "README.md": "# Project\n\nA small project.\n",
    "src/main.js": `${Array.from({ length: 12 }, (_, line) => `export const value${line} = ${line};`).join("\n")}\n`,
    "src/util.js": "export const add = (a, b) => a + b;\n",
    "src/app.py": "def add(a, b):\n    return a + b\n",
    "test/add.test.js":
      'import { test } from "node:test";\nimport { add } from "../src/util.js";\ntest("adds", () => { if (add(1, 2) !== 3) throw new Error("no"); });\n',
    Makefile: "all:\n\t@echo built\n-include local.mk\n",
    "docs/guide.md": "# Guide\n",
    "run.sh": "#!/bin/sh\nexit 0\n",
    ".gitignore": "node_modules\ndist\n*.log\n.env\n.env.*\napps/*/.env\nkeys/\n.npmrc\n.aws\n.kube\n",
    ".vscode/settings.json": "{}\n",
    ".vscode/tasks.json": '{ "version": "2.0.0", "tasks": [] }\n',
    ".husky/pre-commit": "true\n",
    ".github/workflows/ci.yml": "on: push\njobs: {}\n",
    ".npmrc": `//registry.example/:_authToken=${secrets.registry}\n`,
    ".env": `# settings\nAPI_TOKEN=${secrets.env}\nDEBUG=1\n`,
    ".env.local": `DATABASE_URL=postgres://app:${secrets.database}@db.example/app\n`,
    "apps/web/.env": `SESSION_KEY="${secrets["env of an app"]}"\n`,
    "config/credentials.json": `${JSON.stringify({ client: "app", client_secret: secrets.credentials }, null, 2)}\n`,
    "config/secrets.yaml": `production:\n  password: ${secrets.yaml}\n`,
    "keys/server.pem": `-----BEGIN PRIVATE KEY-----\n${secrets["private key"]}\n-----END PRIVATE KEY-----\n`,
    "keys/id_ed25519": `-----BEGIN OPENSSH PRIVATE KEY-----\n${secrets["ssh key"]}\n-----END OPENSSH PRIVATE KEY-----\n`,
    ".aws/credentials": `[default]\naws_secret_access_key = ${secrets.cloud}\n`,
    ".kube/config": `users:\n  - user:\n      token: ${secrets.kubernetes}\n`,
    "node_modules/dep/package.json": '{ "name": "dep", "version": "1.0.0", "main": "index.js" }\n',
    "node_modules/dep/index.js": "module.exports = 1;\n",
    "vendor/lib/lib.js": "module.exports = 2;\n",
  };
  for (const [path, text] of Object.entries(files)) put(join(at, path), text);
  chmodSync(join(at, "run.sh"), 0o755);
  chmodSync(join(at, ".husky/pre-commit"), 0o755);
  symlinkSync("src", join(at, "latest"));
  symlinkSync("../.env", join(at, "docs/env"));
  mkdirSync(join(at, "data"));
  linkSync(join(at, ".env"), join(at, "data/settings.txt"));
  gitIn(join(at, "vendor/lib"), home, ["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "Library"]);
  gitIn(
    at,
    home,
    ["init", "-q", "-b", "main"],
    ["add", "package.json", "README.md", "src", "test", "Makefile", "docs/guide.md", "run.sh", ".gitignore"],
    ["add", ".vscode", ".husky", ".github"],
    ["commit", "-qm", "First"],
    // The value that was committed once is still in use.
    ["add", "-f", ".env"],
    ["commit", "-qm", "Settings"],
    ["rm", "-q", "--cached", ".env"],
    ["commit", "-qm", "No settings"],
  );
}

function gitIn(cwd: string, home: string, ...commands: readonly (readonly string[])[]): void {
  mkdirSync(cwd, { recursive: true });
  const env = {
    ...{ PATH: process.env["PATH"], HOME: home, GIT_CONFIG_NOSYSTEM: "1" },
    ...{
      GIT_AUTHOR_NAME: "Owner",
      GIT_AUTHOR_EMAIL: "o@example.invalid",
      GIT_COMMITTER_NAME: "Owner",
      GIT_COMMITTER_EMAIL: "o@example.invalid",
    },
  };
  for (const args of commands) execFileSync("git", args, { cwd, stdio: "pipe", env });
}
