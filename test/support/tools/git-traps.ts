import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownerEnv, put } from "./git-fixture.ts";

/** One hostile repository in its own corner of the disk. */
export interface TrapWorld {
  /** The workspace. */
  readonly repo: string;
  /** What lies beside it and must not change: a repository of the owner among it. */
  readonly outside: string;
  readonly home: string;
  /** A program that leaves the canary. */
  readonly trap: string;
  readonly canary: string;
}

export interface Trap {
  readonly name: string;
  build(world: TrapWorld): void;
  /** A git command that springs it when git is run as it comes. */
  readonly springs?: readonly string[];
  /** Below `outside`, what belongs to the repository itself. */
  readonly owns?: string;
  /** A path in the workspace the tools are pointed at too. */
  readonly path?: string;
  /** A ref the tools are pointed at too. */
  readonly ref?: string;
}

/** Git as it comes, with the owner's home. */
export function plainGit(world: Pick<TrapWorld, "home">, cwd: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd, encoding: "utf8", stdio: "pipe", timeout: 20_000, env: ownerEnv(world.home) });
}

/** What every world is copied from: two branches, a change that is not committed, a remote on disk, and a neighbour. */
export function buildTemplate(folder: string, home: string): void {
  const world = { home };
  put(join(home, ".gitconfig"), "[user]\n\tname = The Owner\n\temail = owner@example.invalid\n");
  const repo = join(folder, "repo");
  mkdirSync(repo, { recursive: true });
  const git = (...args: string[]) => plainGit(world, repo, ...args);
  git("init", "-q", "-b", "main");
  put(join(repo, "a.txt"), "one\n");
  put(join(repo, "dir/b.txt"), "b\n");
  put(join(repo, "c.txt"), "c\n");
  git("add", ".");
  git("commit", "-qm", "First");
  git("checkout", "-q", "-b", "side");
  put(join(repo, "c.txt"), "side\n");
  git("commit", "-qam", "Side");
  git("checkout", "-q", "main");
  git("clone", "-q", "--bare", ".", "remote.git");
  appendFileSync(join(repo, ".git/info/exclude"), "remote.git\n");
  git("remote", "add", "origin", "./remote.git");
  const victim = join(folder, "outside/victim");
  mkdirSync(victim, { recursive: true });
  plainGit(world, victim, "init", "-q", "-b", "main");
  put(join(victim, "private.txt"), "private words\n");
  plainGit(world, victim, "add", ".");
  plainGit(world, victim, "commit", "-qm", "Private");
}

const hooks = [
  "applypatch-msg",
  "commit-msg",
  "fsmonitor-watchman",
  "post-applypatch",
  "post-checkout",
  "post-commit",
  "post-index-change",
  "post-merge",
  "post-rewrite",
  "pre-applypatch",
  "pre-auto-gc",
  "pre-commit",
  "pre-merge-commit",
  "prepare-commit-msg",
  "pre-push",
  "pre-rebase",
  "pre-receive",
  "proc-receive",
  "post-receive",
  "post-update",
  "push-to-checkout",
  "reference-transaction",
  "sendemail-validate",
  "update",
];

function setHooks({ trap }: TrapWorld, folder: string): void {
  for (const hook of hooks) put(join(folder, hook), readFileSync(trap, "utf8"), 0o755);
}

/** Appends to a settings file, so that names git itself would refuse get in. */
function settings(file: string, lines: Record<string, string>): void {
  for (const [key, value] of Object.entries(lines)) {
    const [section = "", ...rest] = key.split(".");
    const name = rest.pop() ?? "";
    const sub = rest.join(".");
    const quoted = value.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
    appendFileSync(file, `[${section}${sub === "" ? "" : ` "${sub}"`}]\n\t${name} = "${quoted}"\n`);
  }
}

function configured(name: string, lines: (world: TrapWorld) => Record<string, string>, more: Partial<Trap> = {}): Trap {
  return {
    ...more,
    name,
    build(world) {
      more.build?.(world);
      settings(join(world.repo, ".git/config"), lines(world));
    },
  };
}

function attributes(line: string, file = ".gitattributes") {
  return ({ repo }: TrapWorld) => put(join(repo, file), `${line}\n`);
}

/** A commit on `side` whose tree has entries no work tree should have. */
function treeWith(world: TrapWorld, entries: (git: (input: string, ...args: string[]) => string) => string): void {
  const git = (input: string, ...args: string[]) =>
    execFileSync("git", args, {
      cwd: world.repo,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
      input,
      env: ownerEnv(world.home),
    }).trim();
  const tree = git(entries(git), "mktree");
  const commit = git("Evil\n", "commit-tree", tree, "-p", "side");
  git("", "update-ref", "refs/heads/side", commit);
}

/** A tree with one file `config` in a folder of that name. */
function namedGit(name: string) {
  return (world: TrapWorld): void =>
    treeWith(world, (git) => {
      const blob = git(`[core]\n\tfsmonitor = ${world.trap}\n`, "hash-object", "-w", "--stdin");
      const inner = git(`100644 blob ${blob}\tconfig\n`, "mktree");
      return `040000 tree ${inner}\t${name}\n`;
    });
}

function victimGit({ outside }: TrapWorld): string {
  return join(outside, "victim/.git");
}

export const traps: readonly Trap[] = [
  { name: "hooks of every kind", build: (world) => setHooks(world, join(world.repo, ".git/hooks")), springs: ["commit", "-qam", "x"] },
  configured("hooks by core.hooksPath in the tree", () => ({ "core.hooksPath": ".githooks" }), {
    build: (world) => setHooks(world, join(world.repo, ".githooks")),
    springs: ["commit", "-qam", "x"],
  }),
  {
    name: "hooks of the repository a work tree belongs to",
    owns: "main",
    build(world) {
      const main = join(world.outside, "main");
      cpSync(world.repo, main, { recursive: true });
      rmSync(world.repo, { recursive: true });
      plainGit(world, main, "worktree", "add", "-q", "-b", "tree", world.repo);
      setHooks(world, join(main, ".git/hooks"));
      cpSync(join(main, "remote.git"), join(world.repo, "remote.git"), { recursive: true });
      put(join(world.repo, "a.txt"), "changed\n");
    },
    springs: ["commit", "-qam", "x"],
  },
  configured("hooks in settings", ({ trap }) => ({
    "hook.evil.command": trap,
    "hook.evil.event": "pre-commit",
    "hook.evil.enabled": "true",
  })),
  configured("hooks of the remote", () => ({}), {
    build: (world) => setHooks(world, join(world.repo, "remote.git/hooks")),
    springs: ["push", "-q", "origin", "main:new"],
  }),
  configured("a remote that updates its own work tree", () => ({ "remote.origin.url": "./live" }), {
    build(world) {
      plainGit(world, world.repo, "clone", "-q", ".", "live");
      const config = join(world.repo, "live/.git/config");
      settings(config, { "receive.denyCurrentBranch": "updateInstead", "filter.evil.smudge": world.trap, "core.fsmonitor": world.trap });
      put(join(world.repo, "live/.git/info/attributes"), "* filter=evil\n");
      setHooks(world, join(world.repo, "live/.git/hooks"));
    },
  }),
  configured("aliases of the commands themselves", ({ trap }) =>
    Object.fromEntries(
      ["status", "diff", "log", "show", "commit", "branch", "checkout", "push", "clone", "add"].map((name) => [
        `alias.${name}`,
        `!${trap}`,
      ]),
    ),
  ),
  configured("a file system monitor", ({ trap }) => ({ "core.fsmonitor": trap }), { springs: ["status"] }),
  configured("a file system monitor of the first version", ({ trap }) => ({ "core.fsmonitor": trap, "core.fsmonitorHookVersion": "1" }), {
    springs: ["status"],
  }),
  configured("a text converter", ({ trap }) => ({ "diff.evil.textconv": trap, "diff.evil.cachetextconv": "true" }), {
    build: attributes("*.txt diff=evil"),
    springs: ["diff"],
  }),
  configured("an external diff", ({ trap }) => ({ "diff.external": trap }), { springs: ["diff"] }),
  configured("a diff driver", ({ trap }) => ({ "diff.evil.command": trap }), { build: attributes("* diff=evil"), springs: ["diff"] }),
  configured("clean and smudge filters", ({ trap }) => ({ "filter.evil.clean": trap, "filter.evil.smudge": trap }), {
    build: attributes("*.txt filter=evil"),
    springs: ["add", "a.txt"],
  }),
  configured("a required process filter", ({ trap }) => ({ "filter.evil.process": trap, "filter.evil.required": "true" }), {
    build: attributes("* filter=evil"),
    springs: ["add", "a.txt"],
  }),
  configured("a filter whose name holds an equals sign", ({ trap }) => ({ "filter.evil=x.clean": trap, "filter.evil=x.smudge": trap }), {
    build: attributes("* filter=evil=x", ".git/info/attributes"),
    springs: ["add", "a.txt"],
  }),
  configured(
    "attributes of another file",
    ({ repo, trap }) => ({ "core.attributesFile": join(repo, "attributes"), "filter.evil.clean": trap }),
    {
      build: attributes("* filter=evil", "attributes"),
      springs: ["add", "a.txt"],
    },
  ),
  configured("a filter that comes with the other branch", ({ trap }) => ({ "filter.evil.smudge": trap }), {
    build(world) {
      plainGit(world, world.repo, "checkout", "-q", "side");
      put(join(world.repo, ".gitattributes"), "* filter=evil\n");
      plainGit(world, world.repo, "add", ".");
      plainGit(world, world.repo, "commit", "-qm", "Attributes");
      plainGit(world, world.repo, "checkout", "-q", "main");
    },
    springs: ["checkout", "-q", "side"],
  }),
  configured("a merge driver", ({ trap }) => ({ "merge.evil.driver": `${trap} %O %A %B`, "merge.default": "evil" }), {
    build: attributes("* merge=evil"),
  }),
  configured(
    "submodules that start programs",
    ({ trap }) => ({
      "submodule.evil.url": `ext::${trap}`,
      "submodule.evil.update": `!${trap}`,
      "submodule.evil.active": "true",
      "submodule.recurse": "true",
      "protocol.ext.allow": "always",
      "push.recurseSubmodules": "on-demand",
      "status.submoduleSummary": "true",
      "diff.submodule": "log",
    }),
    {
      build(world) {
        put(join(world.repo, ".gitmodules"), `[submodule "evil"]\n\tpath = evil\n\turl = ext::${world.trap}\n\tupdate = !${world.trap}\n`);
        plainGit(
          world,
          world.repo,
          "update-index",
          "--add",
          "--cacheinfo",
          `160000,${plainGit(world, world.repo, "rev-parse", "HEAD").trim()},evil`,
        );
        plainGit(world, world.repo, "add", ".gitmodules");
        plainGit(world, world.repo, "commit", "-qm", "Submodule");
      },
    },
  ),
  {
    name: "a submodule whose address is an option and whose path leads out",
    build(world) {
      put(
        join(world.repo, ".gitmodules"),
        `[submodule "x"]\n\tpath = ../outside/x\n\turl = -u./a.txt\n[submodule "../../y"]\n\tpath = y\n\turl = --upload-pack=${world.trap}\n`,
      );
      plainGit(world, world.repo, "add", ".gitmodules");
      plainGit(world, world.repo, "commit", "-qm", "Modules");
    },
  },
  {
    name: "a submodule in place with a monitor of its own",
    build(world) {
      plainGit(world, world.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", join(world.repo, "remote.git"), "sub");
      plainGit(world, world.repo, "commit", "-qm", "Sub");
      const config = join(world.repo, ".git/modules/sub/config");
      settings(config, { "core.fsmonitor": world.trap, "diff.external": world.trap });
      setHooks(world, join(world.repo, ".git/modules/sub/hooks"));
      put(join(world.repo, "sub/a.txt"), "changed\n");
    },
    path: "sub",
    springs: ["status"],
  },
  {
    name: "branches whose names are options",
    ref: "--output=owned",
    build({ repo }) {
      const commit = readFileSync(join(repo, ".git/refs/heads/main"), "utf8");
      for (const name of ["--output=owned", "-c", "--upload-pack=x", "--help"]) put(join(repo, ".git/refs/heads", name), commit);
      put(join(repo, ".git/refs/tags/--exec=x"), commit);
    },
  },
  {
    name: "a branch whose name is an option is checked out",
    build({ repo }) {
      put(join(repo, ".git/refs/heads/--output=owned"), readFileSync(join(repo, ".git/refs/heads/main"), "utf8"));
      put(join(repo, ".git/HEAD"), "ref: refs/heads/--output=owned\n");
    },
  },
  configured("remotes whose names and addresses are options", ({ trap }) => ({
    "remote.--receive-pack=x.url": `--receive-pack=${trap}`,
    "remote.origin.pushurl": `--receive-pack=${trap}`,
  })),
  {
    name: "files whose names are options and magic",
    path: "--output=owned",
    build({ repo }) {
      for (const name of [
        "--output=owned",
        "-c",
        "--",
        ":(exclude)a.txt",
        ":!c.txt",
        "--exec=x",
        "*",
        "@{-1}",
        "-F",
        "--pathspec-from-file=a.txt",
      ])
        put(join(repo, name), `${name}\n`);
    },
  },
  configured("an included file", () => ({ "include.path": "../evil.config" }), {
    build: ({ repo, trap }) => settings(join(repo, "evil.config"), { "core.fsmonitor": trap, "diff.external": trap }),
    springs: ["status"],
  }),
  configured(
    "files included on conditions",
    () => ({ "includeIf.gitdir:**.path": "../evil.config", "includeIf.onbranch:**.path": "../evil.config" }),
    {
      build: ({ repo, trap }) => settings(join(repo, "evil.config"), { "core.fsmonitor": trap, "filter.evil.clean": trap }),
      springs: ["status"],
    },
  ),
  configured("settings of the work tree", () => ({ "core.repositoryFormatVersion": "1", "extensions.worktreeConfig": "true" }), {
    build: ({ repo, trap }) => settings(join(repo, ".git/config.worktree"), { "core.fsmonitor": trap, "core.hooksPath": ".githooks" }),
    springs: ["status"],
  }),
  configured(
    "an ssh command",
    ({ trap }) => ({ "core.sshCommand": trap, "ssh.variant": "simple", "remote.origin.url": "git@example.invalid:o/p.git" }),
    {
      springs: ["push", "origin", "main"],
    },
  ),
  configured("pagers", ({ trap }) => ({
    "core.pager": trap,
    "pager.log": trap,
    "pager.diff": trap,
    "pager.status": trap,
    "pager.show": trap,
    "pager.branch": trap,
  })),
  configured(
    "editors",
    ({ trap }) => ({ "core.editor": trap, "sequence.editor": trap, "commit.template": "a.txt", "commit.verbose": "true" }),
    {
      springs: ["commit", "-a"],
    },
  ),
  configured(
    "a program that signs",
    ({ trap }) => ({
      "commit.gpgSign": "true",
      "tag.gpgSign": "true",
      "push.gpgSign": "if-asked",
      "log.showSignature": "true",
      "gpg.program": trap,
      "gpg.format": "ssh",
      "gpg.ssh.program": trap,
      "gpg.ssh.defaultKeyCommand": trap,
    }),
    { springs: ["commit", "-qam", "x"] },
  ),
  {
    name: "a signed commit and a program that checks it",
    build(world) {
      const raw = plainGit(world, world.repo, "cat-file", "commit", "HEAD");
      const signed = raw.replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n");
      const id = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], {
        cwd: world.repo,
        input: signed,
        encoding: "utf8",
        env: ownerEnv(world.home),
      });
      plainGit(world, world.repo, "update-ref", "refs/heads/main", id.trim());
      settings(join(world.repo, ".git/config"), { "log.showSignature": "true", "gpg.program": world.trap });
    },
    springs: ["log"],
  },
  configured("credential helpers", ({ trap }) => ({
    "credential.helper": `!${trap}`,
    "credential.https://example.invalid.helper": `!${trap}`,
    "core.askPass": trap,
    "remote.origin.url": "https://example.invalid/o/p.git",
  })),
  configured(
    "addresses that are rewritten to programs",
    ({ trap }) => ({
      [`url.ext::${trap} .insteadOf`]: "./",
      [`url.ext::${trap} #.pushInsteadOf`]: "./remote.git",
      "protocol.ext.allow": "always",
      "protocol.allow": "always",
    }),
    { springs: ["push", "origin", "main"] },
  ),
  configured("programs that serve a remote", ({ trap }) => ({
    "remote.origin.uploadpack": trap,
    "remote.origin.receivepack": trap,
    "remote.origin.vcs": "evil",
  })),
  configured("a remote that is a program", ({ trap }) => ({ "remote.origin.url": `ext::${trap}`, "protocol.ext.allow": "always" }), {
    build: ({ repo }) => {
      const file = join(repo, ".git/config");
      writeFileSync(file, readFileSync(file, "utf8").replace(/\turl = .*\n/, ""));
    },
    springs: ["push", "origin", "main"],
  }),
  configured(
    "objects that are fetched when they are missed",
    ({ trap }) => ({
      "core.repositoryFormatVersion": "1",
      "extensions.partialClone": "promised",
      "remote.promised.url": "./remote.git",
      "remote.promised.promisor": "true",
      "remote.promised.uploadpack": trap,
    }),
    {
      build(world) {
        const blob = plainGit(world, world.repo, "rev-parse", "side:c.txt").trim();
        rmSync(join(world.repo, ".git/objects", blob.slice(0, 2), blob.slice(2)), { force: true });
      },
      springs: ["show", "side"],
    },
  ),
  configured("a bare repository in a folder", () => ({}), {
    path: "folder",
    build(world) {
      renameSync(join(world.repo, "remote.git"), join(world.repo, "folder"));
      settings(join(world.repo, "folder/config"), {
        "core.fsmonitor": world.trap,
        "core.bare": "false",
        "core.worktree": "../",
        "diff.external": world.trap,
      });
      setHooks(world, join(world.repo, "folder/hooks"));
    },
  }),
  {
    name: "a .git that is a link to the owner's other repository",
    build(world) {
      rmSync(join(world.repo, ".git"), { recursive: true });
      symlinkSync(victimGit(world), join(world.repo, ".git"));
    },
  },
  {
    name: "a .git file that names the owner's other repository",
    build(world) {
      rmSync(join(world.repo, ".git"), { recursive: true });
      put(join(world.repo, ".git"), `gitdir: ${victimGit(world)}\n`);
    },
  },
  {
    name: "a .git file that names a folder of the project",
    build(world) {
      renameSync(join(world.repo, ".git"), join(world.repo, "assets"));
      put(join(world.repo, ".git"), "gitdir: assets\n");
      settings(join(world.repo, "assets/config"), { "core.fsmonitor": world.trap, "diff.external": world.trap });
      setHooks(world, join(world.repo, "assets/hooks"));
    },
    springs: ["status"],
  },
  {
    name: "a common folder that is the owner's other repository",
    build: (world) => put(join(world.repo, ".git/commondir"), `${victimGit(world)}\n`),
  },
  configured("a work tree elsewhere", ({ outside }) => ({ "core.worktree": join(outside, "victim") })),
  {
    name: "objects borrowed from the owner's other repository",
    build(world) {
      put(join(world.repo, ".git/objects/info/alternates"), `${join(victimGit(world), "objects")}\n`);
      settings(join(world.repo, ".git/config"), { "core.alternateRefsCommand": world.trap });
    },
  },
  {
    name: "an objects folder that is a link",
    build(world) {
      renameSync(join(world.repo, ".git/objects"), join(world.outside, "objects"));
      symlinkSync(join(world.outside, "objects"), join(world.repo, ".git/objects"));
    },
  },
  {
    name: "folders of objects that are links",
    build(world) {
      mkdirSync(join(world.outside, "drop"));
      for (let byte = 0; byte < 256; byte += 1) {
        const fan = join(world.repo, ".git/objects", byte.toString(16).padStart(2, "0"));
        if (!existsSync(fan)) symlinkSync(join(world.outside, "drop"), fan);
      }
    },
  },
  {
    name: "refs, logs and index that are links",
    build({ repo, outside }) {
      const git = join(repo, ".git");
      for (const name of ["index", "logs", "refs/heads"]) {
        renameSync(join(git, name), join(outside, name.replace("/", "-")));
        symlinkSync(join(outside, name.replace("/", "-")), join(git, name));
      }
    },
  },
  {
    name: "a HEAD that is a link",
    build({ repo, outside }) {
      renameSync(join(repo, ".git/HEAD"), join(outside, "HEAD"));
      symlinkSync(join(outside, "HEAD"), join(repo, ".git/HEAD"));
    },
  },
  { name: "a tree with .GIT in it", build: namedGit(".GIT") },
  { name: "a tree with git~1 in it", build: namedGit("git~1") },
  { name: "a tree with an invisible letter in .git", build: namedGit(".g\u200cit") },
  { name: "a tree with a stream of .git", build: namedGit(".git::$INDEX_ALLOCATION") },
  {
    name: "a tree with a link to outside, and a file below it",
    build: (world) =>
      treeWith(world, (git) => {
        const link = git("../outside", "hash-object", "-w", "--stdin");
        const blob = git("owned\n", "hash-object", "-w", "--stdin");
        return `120000 blob ${link}\tdir\n100644 blob ${blob}\tpost\n`;
      }),
    path: "dir",
  },
  configured("files that never end", () => ({
    "diff.orderFile": "/dev/zero",
    "core.excludesFile": "/dev/zero",
    "mailmap.file": "/dev/zero",
    "blame.ignoreRevsFile": "/dev/zero",
  })),
  configured("all other settings that name a program", ({ trap }) => ({
    "core.gitProxy": trap,
    "interactive.diffFilter": trap,
    "trailer.x.command": trap,
    "trailer.x.cmd": trap,
    "tar.x.command": trap,
    "man.viewer": "x",
    "man.x.cmd": trap,
    "browser.x.cmd": trap,
    "mergetool.x.cmd": trap,
    "difftool.x.cmd": trap,
    "uploadpack.packObjectsHook": trap,
    "gc.recentObjectsHook": trap,
    "gc.auto": "1",
    "gc.autoDetach": "false",
    "maintenance.auto": "true",
    "sendemail.sendmailCmd": trap,
    "init.templateDir": ".githooks",
    "imap.tunnel": trap,
  })),
  {
    name: "a submodule whose .git names the owner's other repository",
    path: "sub",
    build(world) {
      plainGit(world, world.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", join(world.repo, "remote.git"), "sub");
      plainGit(world, world.repo, "commit", "-qm", "Sub");
      put(join(world.repo, "sub/.git"), `gitdir: ${victimGit(world)}\n`);
    },
  },
  {
    name: "a submodule at another commit with filters and hooks of its own",
    path: "sub",
    build(world) {
      plainGit(world, world.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", join(world.repo, "remote.git"), "sub");
      plainGit(world, world.repo, "commit", "-qm", "Sub");
      const sub = join(world.repo, "sub");
      plainGit(world, sub, "commit", "-q", "--allow-empty", "-m", "Newer");
      const git = join(world.repo, ".git/modules/sub");
      put(join(git, "info/attributes"), "* filter=evil diff=evil\n");
      settings(join(git, "config"), {
        "filter.evil.clean": world.trap,
        "filter.evil.process": world.trap,
        "diff.evil.textconv": world.trap,
        "core.fsmonitor": world.trap,
      });
      setHooks(world, join(git, "hooks"));
      put(join(sub, "a.txt"), "changed\n");
    },
    springs: ["status"],
  },
  {
    name: "a repository of another user",
    build(world) {
      settings(join(world.repo, ".git/config"), { "core.fsmonitor": world.trap, "safe.directory": "*" });
      setHooks(world, join(world.repo, ".git/hooks"));
      if (process.getuid?.() === 0) execFileSync("chown", ["-R", "65534:65534", join(world.repo, ".git")]);
    },
  },
  {
    name: "pipes in the place of files",
    build(world) {
      rmSync(join(world.repo, ".git/index"));
      execFileSync("mkfifo", [join(world.repo, ".git/index")]);
    },
  },
  {
    name: "a pipe in the place of ignored names",
    build: (world) => execFileSync("mkfifo", [join(world.repo, ".gitignore")]),
  },
  {
    name: "attributes, modules and ignored names that are links",
    build({ repo, outside }) {
      for (const name of [".gitattributes", ".gitmodules", ".gitignore"])
        symlinkSync(join(outside, "victim/private.txt"), join(repo, name));
      symlinkSync(join(outside, "victim/private.txt"), join(repo, ".git/info/attributes"));
    },
  },
  configured("files included by the address of a remote", () => ({ "includeIf.hasconfig:remote.*.url:**.path": "../evil.config" }), {
    build: ({ repo, trap }) => settings(join(repo, "evil.config"), { "core.fsmonitor": trap, "diff.external": trap }),
    springs: ["status"],
  }),
  configured("branches that name a remote of their own", ({ trap }) => ({
    "branch.main.remote": `ext::${trap}`,
    "branch.main.pushRemote": `ext::${trap}`,
    "remote.pushDefault": `ext::${trap}`,
    "protocol.ext.allow": "always",
    "push.default": "current",
  })),
  {
    name: "objects that stand in for others",
    build(world) {
      const [main, side] = ["main", "side"].map((name) => plainGit(world, world.repo, "rev-parse", name).trim());
      plainGit(world, world.repo, "update-ref", `refs/replace/${main}`, side ?? "");
      put(join(world.repo, ".git/info/grafts"), `${main} ${side}\n`);
    },
  },
  configured("settings that contradict each other", () => ({
    "core.bare": "true",
    "core.repositoryFormatVersion": "1",
    "extensions.unheardOf": "true",
    "core.sparseCheckout": "true",
    "core.sharedRepository": "0777",
  })),
  {
    name: "packed refs that are a link",
    build(world) {
      plainGit(world, world.repo, "pack-refs", "--all");
      renameSync(join(world.repo, ".git/packed-refs"), join(world.outside, "packed-refs"));
      symlinkSync(join(world.outside, "packed-refs"), join(world.repo, ".git/packed-refs"));
    },
  },
];
