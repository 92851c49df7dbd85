import { execFileSync } from "node:child_process";
import { cpSync, linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A real folder tree with everything the path table names. */
export interface PathWorkspace {
  /** Holds all the others. */
  readonly base: string;
  readonly workspace: string;
  /** The same workspace behind a symbolic link. */
  readonly workspaceLink: string;
  readonly outside: string;
  readonly home: string;
  readonly dataDir: string;
  readonly configDir: string;
  /** What every secret file contains: it must never come out of a tool. */
  readonly secretText: string;
  /** Puts the folders into an input of the table: `{workspace}`, `{outside}`, `{home}`, `{data}`, `{config}`, `{base}`. */
  expand(input: string): string;
  dispose(): void;
}

const privateKey = "-----BEGIN PRIVATE KEY-----\nNOTAREALKEY\n-----END PRIVATE KEY-----\n";
const certificate = "-----BEGIN CERTIFICATE-----\nNOTAREALCERTIFICATE\n-----END CERTIFICATE-----\n";

/** Builds the tree in a new temporary folder. POSIX only, as links, pipes and sockets need it. */
export async function createPathWorkspace(): Promise<PathWorkspace> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-paths-")));
  const secretText = "SECRET-THAT-MUST-NOT-COME-OUT";
  const at = (path: string): string => join(base, path);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text);
  };
  const link = (path: string, target: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    symlinkSync(target, at(path));
  };

  for (const path of ordinaryFiles) write(`proj/${path}`, `content of ${path}\n`);
  for (const path of secretFiles) write(`proj/${path}`, `${secretText}\n`);
  for (const path of protectedFiles) write(`proj/${path}`, `settings of ${path}\n`);
  write("proj/keys/server.pem", certificate + privateKey + secretText);
  write("proj/keys/tls.key", privateKey + secretText);
  write("proj/keys/ca.pem", certificate);
  write("proj/keys/translations.key", "greeting\n");
  write("proj/keys/late.pem", `${certificate.repeat(1000)}${privateKey}${secretText}`);
  write("proj/keys/wide.pem", Buffer.from(privateKey, "utf16le").toString("latin1"));
  write("proj/account/credentials.json", `{"private_key": "${secretText}"}\n`);
  write("proj/forms/credentials.json", '{"fields": ["name", "mail"]}\n');
  write("proj-evil/file.txt", "beside\n");
  write("outside/file.txt", "outside\n");
  write("outside/.env", secretText);
  write("home/notes.txt", "notes\n");
  write("home/.ssh/id_ed25519", privateKey + secretText);
  write("home/.ssh/config", secretText);
  write("home/.aws/credentials", secretText);
  write("home/.bashrc", "alias l=ls\n");
  write("data/lancelot.sqlite", secretText);
  write("data/vault.json", secretText);
  write("data/objects/ab/cd", secretText);
  write("data/config/models.yaml", "version: '1.0'\n");
  write("data/soul/ACTIVE", "soul_v1\n");
  write("data/USER.md", "The owner.\n");
  write("lancelot/soul/soul_v1.yaml", "version: v1\n");
  for (const folder of ["config", "soul"])
    cpSync(join(import.meta.dirname, "../..", folder), at(`lancelot/${folder}`), { recursive: true });

  link("proj-link", "proj");
  link("proj/link-file.ts", "src/main.ts");
  link("proj/link-dir", "src");
  link("proj/link-absolute.ts", at("proj/src/main.ts"));
  link("proj/link-workspace", at("proj"));
  link("proj/src/link-up", "..");
  link("proj/link-out.txt", "../outside/file.txt");
  link("proj/link-out-dir", "../outside");
  link("proj/link-out-absolute", at("outside"));
  link("proj/link-parent", "..");
  link("proj/link-evil", "../proj-evil");
  link("proj/link-root", "/");
  link("proj/link-secret.txt", ".env");
  link("proj/link-ssh", "../home/.ssh");
  link("proj/notes-link.txt", "../home/.ssh/id_ed25519");
  link("proj/link-git", ".git");
  link("proj/link-hook.sh", ".git/hooks/pre-commit");
  link("proj/.env.linked", "src/main.ts");
  link("proj/link-data", "../data");
  link("proj/chain-1", "chain-2");
  link("proj/chain-2", "link-dir/../../outside/file.txt");
  link("proj/chain-in-1", "chain-in-2");
  link("proj/chain-in-2", "src/main.ts");
  link("proj/out-and-back", "../outside/../proj/src/main.ts");
  link("proj/dangling-in.ts", "src/not-yet.ts");
  link("proj/dangling-out.txt", "../outside/not-yet.txt");
  link("proj/dangling-secret", ".env.not-yet");
  link("proj/dangling-deep", "../outside/no/such/folder/x");
  link("proj/loop-a", "loop-b");
  link("proj/loop-b", "loop-a");
  link("proj/loop-self", "loop-self");
  link("proj/link-proc", "/proc/self");
  link("proj/link-null", "/dev/null");
  linkSync(at("proj/.env"), at("proj/hard-link.txt"));
  execFileSync("mkfifo", [at("proj/pipe")]);
  const server = createServer().listen(at("proj/socket"));
  await new Promise<void>((resolve, reject) => {
    server.once("listening", resolve);
    server.once("error", reject);
  });
  server.unref();

  const folders: Record<string, string> = {
    base,
    workspace: at("proj"),
    outside: at("outside"),
    home: at("home"),
    data: at("data"),
    config: at("lancelot/config"),
  };
  return {
    base,
    workspace: at("proj"),
    workspaceLink: at("proj-link"),
    outside: at("outside"),
    home: at("home"),
    dataDir: at("data"),
    configDir: at("lancelot/config"),
    secretText,
    expand: (input) => input.replaceAll(/\{(base|workspace|outside|home|data|config)\}/g, (_whole, name: string) => folders[name] ?? ""),
    dispose: () => {
      server.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}

const ordinaryFiles = [
  "README.md",
  "AGENTS.md",
  "package.json",
  "src/main.ts",
  "src/deep/a.ts",
  "src/environment.ts",
  "src/credentials/index.ts",
  "src/aws/index.ts",
  "src/ssh/client.ts",
  "src/git/config.ts",
  ".env.example",
  ".env.local.example",
  "app/.env.sample",
  ".env.template",
  "example.env",
  "secrets.ts",
  "secrets.example.yml",
  "id_rsa.pub",
  "id_rsa.test.ts",
  "credentials.md",
  "credentials.ts",
  "kubeconfig.ts",
  "keystore.ts",
  "terraform.tf",
  "mcp.md",
  ".gitignore",
  ".gitattributes",
  ".github/workflows/ci.yml",
  ".vscode/words.code-snippets",
  "..hidden",
  "...",
  "a..b",
  "dir with spaces/ä file.txt",
  "literal%2Fname.txt",
  "100%.txt",
  "back\\slash.txt",
  "$HOME",
  "~backup",
  "time-10:00.log",
  "-rf",
  "emoji-👩‍💻.md",
  "caf\u00e9.txt",
  "cafe\u0301-2.txt",
  "日本語.txt",
  "con.d.ts",
  "sub/code.ts",
];

const secretFiles = [
  ".env",
  ".env.local",
  "app/.env.production",
  "prod.env",
  ".env.bak",
  ".env~",
  ".envrc",
  "id_rsa",
  "keys/id_ed25519",
  "id_rsa_deploy",
  "keys/release.p12",
  "android/app.keystore",
  ".npmrc",
  ".netrc",
  ".pypirc",
  ".git-credentials",
  ".htpasswd",
  "kubeconfig",
  ".kube/config",
  ".docker/config.json",
  ".aws/credentials",
  ".ssh/known_hosts",
  ".gnupg/pubring.kbx",
  ".config/gcloud/access_tokens.db",
  "terraform.tfstate",
  "infra/terraform.tfstate.backup",
  "config/master.key",
  "config/secrets.yml",
  ".bash_history",
  ".vault-token",
];

const protectedFiles = [
  ".git/HEAD",
  ".git/config",
  ".git/hooks/pre-commit",
  ".git/modules/sub/hooks/post-checkout",
  "sub/.git",
  ".gitmodules",
  ".vscode/settings.json",
  ".vscode/tasks.json",
  ".vscode/launch.json",
  "packages/a/.vscode/settings.json",
  "team.code-workspace",
  ".devcontainer/devcontainer.json",
  ".mcp.json",
  ".cursor/mcp.json",
  ".lancelot/config.yaml",
  ".claude/settings.json",
  "skills/greet/SKILL.md",
  ".husky/pre-commit",
  ".yarnrc.yml",
];
