import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ShellProvider } from "../../../agent-server/sandbox/shell-provider.ts";
import { createSandboxFixture, type SandboxFixture } from "./fixture.ts";
import { quoted, runIn } from "./run.ts";

export interface MaskCaseOptions {
  /** Opens the place on a workspace with its real path rules and the settings of its data folder. The suite closes it. */
  readonly open: (fixture: SandboxFixture) => Promise<ShellProvider>;
  /** Commands have git, Python, Node and ripgrep, the latter by this path. */
  readonly tools?: { readonly ripgrep: string | null };
  /** A program that commands do not have. */
  readonly without?: string;
}

/** Writes a file of the workspace, which belongs to the workspace's owner with the folders made for it. */
export function put(fixture: SandboxFixture, path: string, text: string): string {
  const { uid, gid } = fixture.owner;
  const place = join(fixture.workspace, path);
  for (let folder = dirname(place), made: string[] = []; ; folder = dirname(folder)) {
    if (!existsSync(folder)) {
      made.push(folder);
      continue;
    }
    mkdirSync(dirname(place), { recursive: true });
    for (const one of made.splice(0)) chownSync(one, uid, gid);
    break;
  }
  writeFileSync(place, text);
  chownSync(place, uid, gid);
  return place;
}

/** Each reads the given files. They run on a harmless file too, so that a command that reads nothing is noticed. */
const readers: readonly (readonly [string, (files: string) => string])[] = [
  ["cat", (files) => `cat ${files}`],
  ["awk", (files) => `for f in ${files}; do awk 1 "$f"; done`],
  ["sed", (files) => `for f in ${files}; do sed '' "$f"; done`],
  ["grep", (files) => `grep -h '' ${files}`],
  ["head", (files) => `head -c 1000 ${files}`],
  ["dd", (files) => `for f in ${files}; do dd if="$f" 2>&1; done`],
  ["tar", (files) => `tar -cf /tmp/x.tar ${files}; cat /tmp/x.tar`],
  ["cp", (files) => `for f in ${files}; do cp "$f" /tmp/copy && cat /tmp/copy; done`],
  ["the shell itself", (files) => `for f in ${files}; do while read -r line; do echo "$line"; done < "$f"; done`],
  ["another mode first", (files) => `for f in ${files}; do chmod 777 "$f"; cat "$f"; done`],
  ["the working folder of a process", (files) => `for f in ${files}; do cat "/proc/self/cwd/$f"; done`],
  ["the root folder of a process", (files) => `for f in ${files}; do cat "/proc/$$/root$PWD/$f"; done`],
  ["the folder above", (files) => `for f in ${files}; do cat "../$(basename "$PWD")/$f"; done`],
  ["an open descriptor", (files) => `for f in ${files}; do (exec 7< "$f"; cat /proc/self/fd/7); done`],
  ["another name", (files) => `for f in ${files}; do mv "$f" moved && cat moved; mv moved "$f"; done`],
  ["a hard link", (files) => `for f in ${files}; do ln "$f" linked; cat linked; rm -f linked; done`],
  ["a symbolic link", (files) => `for f in ${files}; do ln -s "$f" linked; cat linked; rm -f linked; done`],
];
const toolReaders: readonly (readonly [string, (files: string) => string])[] = [
  ["git grep", (files) => `git grep --no-index -h '' -- ${files}`],
  ["git diff", (files) => `for f in ${files}; do git diff --no-index /dev/null "$f"; done`],
  [
    "git hash-object",
    (files) => `git init -q /tmp/r; for f in ${files}; do git -C /tmp/r cat-file blob $(git -C /tmp/r hash-object -w "$PWD/$f"); done`,
  ],
  ["Python", (files) => `for f in ${files}; do python3 -c 'import sys, mmap; print(open(sys.argv[1]).read())' "$f"; done`],
  ["Node", (files) => `for f in ${files}; do node -p 'fs.readFileSync(process.argv[1], "utf8")' "$f"; done`],
];

/** Registers the cases of masked secret files that every contained place for commands has to pass. */
export function maskCases(title: string, options: MaskCaseOptions): void {
  describe(title, () => {
    let fixture: SandboxFixture;
    let provider: ShellProvider;
    const at = (path: string) => join(fixture.workspace, path);
    const run = (command: string) => runIn(provider, fixture.workspace, command, { timeoutMs: 60_000 });
    const secret = () => `KEY=${fixture.canary}\n`;
    const key = () => `-----BEGIN PRIVATE KEY-----\n${fixture.canary}\n-----END PRIVATE KEY-----\n`;
    const certificate = "-----BEGIN CERTIFICATE-----\npublic\n-----END CERTIFICATE-----\n";
    /** Every file with the secret, by a path that commands may try. */
    const secretPaths = [".env", "config/.env.local", "keys/server.pem", "alias.txt", "link.txt", ".git/hooks/.env", ".ssh/config"];

    beforeAll(async () => {
      fixture = createSandboxFixture();
      put(fixture, ".env", secret());
      put(fixture, "config/.env.local", secret());
      put(fixture, "config/settings.txt", "plain\n");
      put(fixture, "keys/server.pem", key());
      put(fixture, "keys/ca.pem", certificate);
      put(fixture, ".ssh/config", secret());
      put(fixture, ".git/hooks/.env", secret());
      put(fixture, ".env.test", secret());
      put(fixture, "new\nline.env", secret());
      put(fixture, 'com,ma"quote.env', secret());
      linkSync(at(".env"), at("alias.txt"));
      symlinkSync(".env", at("link.txt"));
      provider = await options.open(fixture);
      await run("true");
    });
    afterAll(async () => {
      await provider.close();
      fixture.close();
    });

    it.each([...readers.filter(([name]) => name !== options.without), ...(options.tools === undefined ? [] : toolReaders)])(
      "prints no secret by %s",
      async (_name, command) => {
        // The harmless file comes last, so a command that stops at the first secret one is noticed too.
        const ran = await run(command([...secretPaths, "README.md"].join(" ")));
        expect(ran.stdout + ran.stderr).not.toContain(fixture.canary);
        expect(ran.stdout).toContain("hello");
        for (const path of secretPaths) expect(readFileSync(at(path), "utf8")).toContain(fixture.canary);
      },
    );

    it("prints no secret by a search of all files, whatever their names", async () => {
      const searches = ["grep -r '' . 2>&1", "find . -type f -exec cat {} + 2>&1", "tar -cf - . 2>&1"];
      if (typeof options.tools?.ripgrep === "string") searches.push(`${quoted(options.tools.ripgrep)} -uuu -L --hidden '' 2>&1`);
      if (options.tools !== undefined) searches.push("git grep --no-index '' 2>&1");
      for (const command of searches) {
        const ran = await run(command);
        expect(ran.stdout).toContain("hello");
        expect(ran.stdout).not.toContain(fixture.canary);
      }
    });

    it("refuses visibly to read, write, replace and delete a secret file", async () => {
      const before = lstatSync(at(".env"), { bigint: true });
      const files = secretPaths.filter((path) => path !== "link.txt");
      const commands = files.flatMap((path) => [
        `cat ${path}`,
        `echo x > ${path}`,
        `echo x >> ${path}`,
        `rm -f ${path}`,
        `chmod 644 ${path}`,
        `ln ${path} other`,
        `echo x > /tmp/x; mv -f /tmp/x ${path}`,
      ]);
      const script = commands.map(
        (command) =>
          `if (${command}) >/dev/null 2>/tmp/said; then echo "done: ${command}"; fi; [ -s /tmp/said ] || echo "silent: ${command}"`,
      );
      expect((await run(script.join("\n"))).stdout).toBe("");
      for (const path of files) expect(readFileSync(at(path), "utf8")).toContain(fixture.canary);
      const after = lstatSync(at(".env"), { bigint: true });
      expect([after.ino, after.ctimeNs]).toEqual([before.ino, before.ctimeNs]);
    });

    it("shows everything else: a certificate, and what lies beside a secret file", async () => {
      expect((await run("cat keys/ca.pem config/settings.txt")).stdout).toBe(`${certificate}plain\n`);
      expect((await run("echo more >> config/settings.txt && echo new > config/new.txt && cat config/*.txt")).stdout).toBe(
        "new\nplain\nmore\n",
      );
      rmSync(at("config/new.txt"));
      put(fixture, "config/settings.txt", "plain\n");
    });

    it("keeps a secret file with its folder: a folder that was moved is still masked", async () => {
      const ran = await run(
        "mv config moved; cat moved/.env.local; cat moved/settings.txt; cp -r moved copied; cat copied/.env.local; rm -rf copied",
      );
      expect(ran.stdout).not.toContain(fixture.canary);
      expect(ran.stdout).toContain("plain");
      expect((await run("cat moved/.env.local moved/settings.txt; mv moved config")).stdout).toBe("plain\n");
      expect(readFileSync(at("config/.env.local"), "utf8")).toBe(secret());
    });

    it("keeps it masked in later commands where only the folder's name made it secret", async () => {
      put(fixture, ".docker/config.json", secret());
      put(fixture, "development.txt", secret());
      symlinkSync("development.txt", at("local.env"));
      const ran = await run(
        "cat .docker/config.json development.txt; mv .docker docker; rm local.env; cat docker/config.json development.txt",
      );
      expect(ran.stdout).toBe("");
      expect((await run("cat docker/config.json; mv docker again; cat development.txt")).stdout).toBe("");
      expect((await run("cat again/config.json")).stdout).toBe("");
      expect(readFileSync(at("again/config.json"), "utf8")).toBe(secret());
      for (const path of ["again", "development.txt"]) rmSync(at(path), { recursive: true });
    });

    it("masks a file that appears or is replaced, from the next command on", async () => {
      await run("true");
      put(fixture, "later/.env", secret());
      expect((await run("cat later/.env")).stdout).toBe("");
      put(fixture, "later/.env.new", secret());
      renameSync(at("later/.env.new"), at("later/.env"));
      expect((await run("cat later/.env")).stdout).toBe("");
      // Most file systems give it the inode number of the deleted file.
      rmSync(at("later/.env"));
      put(fixture, "later/.env", secret());
      expect((await run("cat later/.env")).stdout).toBe("");
      linkSync(at("later/.env"), at("later/plain.txt"));
      expect((await run("cat later/plain.txt")).stdout).toBe("");
      // A certificate that becomes a private key.
      put(fixture, "later/x.pem", certificate);
      expect((await run("cat later/x.pem")).stdout).toBe(certificate);
      put(fixture, "later/x.pem", key());
      expect((await run("cat later/x.pem")).stdout).toBe("");
      rmSync(at("later"), { recursive: true });
      expect(await run("ls later; cat README.md")).toMatchObject({ stdout: "hello\n", result: { exitCode: 0 } });
    });

    it("masks what a command itself leaves in a file with a secret name, and the owner can still delete it", async () => {
      expect((await run("mkdir made; echo value > made/.env; cat made/.env")).stdout).toBe("value\n");
      expect((await run("cat made/.env")).stdout).toBe("");
      expect(readFileSync(at("made/.env"), "utf8")).toBe("value\n");
      rmSync(at("made"), { recursive: true });
    });

    it("lets commands read what the user's settings name, and nothing else", async () => {
      const settings = join(fixture.dataDir, "config/sandbox.yaml");
      // The workspace's own file says nothing.
      put(fixture, "config/sandbox.yaml", "readable_secrets: ['**']\n");
      put(fixture, ".lancelot/sandbox.yaml", "readable_secrets: ['**']\n");
      expect((await run("cat .env.test")).stdout).toBe("");
      writeFileSync(settings, "readable_secrets: [.env.test, .ssh/config]\n");
      expect((await run("cat .env.test .ssh/config")).stdout).toBe(secret() + secret());
      expect((await run("cat .env config/.env.local keys/server.pem alias.txt")).stdout).toBe("");
      expect((await run("echo more >> .env.test && cat .env.test")).stdout).toBe(`${secret()}more\n`);
      rmSync(settings);
      expect((await run("cat .env.test")).stdout).toBe("");
      put(fixture, ".env.test", secret());
      for (const path of [".lancelot", "config/sandbox.yaml"]) rmSync(at(path), { recursive: true });
    });

    if (options.tools !== undefined)
      it("git takes a tracked secret file for unmodified, and commits the others", async () => {
        const earlier = new Date(Date.now() - 3_600_000);
        for (const path of ["repository/.env", "repository/key.pem", "repository/a.txt"]) {
          put(fixture, path, path.endsWith("pem") ? key() : secret().replace(fixture.canary, "x"));
          utimesSync(at(path), earlier, earlier);
        }
        const git = (...args: string[]) =>
          execFileSync("git", ["-c", "user.name=O", "-c", "user.email=o@example.org", ...args], {
            cwd: at("repository"),
            ...(process.getuid?.() === 0 ? fixture.owner : {}),
            env: { PATH: process.env["PATH"], HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" },
          }).toString();
        git("init", "-q");
        git("add", "-A");
        git("commit", "-qm", "one");
        const commit = "git -c user.name=A -c user.email=a@example.org commit";
        const ran = await run(
          `cd repository && git status --short && git diff && echo more >> a.txt && git diff --stat && git add -A && ${commit} -qm two && git stash && echo b > b.txt && git add -A && ${commit} -qam three && git status --short`,
        );
        expect(ran).toMatchObject({ result: { exitCode: 0 }, stderr: "" });
        expect(ran.stdout).not.toMatch(/env|pem/);
        expect(git("show", "--stat", "--format=%s", "HEAD~1", "HEAD")).toMatch(/two[^]*a\.txt[^]*three[^]*b\.txt/);
        expect(git("diff", "HEAD~2", "--name-only")).toBe("a.txt\nb.txt\n");
        expect(git("status", "--short")).toBe("");
        rmSync(at("repository"), { recursive: true });
      });

    it("masks two hundred files", async () => {
      for (let index = 0; index < 200; index += 1) put(fixture, `many/part-${index % 20}/.env.${index}`, secret());
      put(fixture, "many/plain.txt", "plain\n");
      const ran = await run("cat many/part-*/.env.* many/plain.txt 2>/dev/null; ls -A many/part-* | grep -c '^.env'");
      expect(ran.stdout).toBe("plain\n200\n");
      rmSync(at("many"), { recursive: true });
    });

    it("leaves the workspace as it was", () => {
      expect(lstatSync(at(".env")).nlink).toBe(2);
      expect(readFileSync(at("new\nline.env"), "utf8")).toBe(secret());
      expect(existsSync(at("moved"))).toBe(false);
      chmodSync(at(".env"), 0o600);
      expect(basename(fixture.workspace)).toBe("project");
    });
  });
}
