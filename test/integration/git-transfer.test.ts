import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Intent } from "../../agent-server/contract/governance.ts";
import type { Governance } from "../../agent-server/governance/governance.ts";
import { stagingFolder, sweepStaging } from "../../agent-server/workspace/git/clone-staging.ts";
import { type GitServer, type GitServerOptions, startGitServer } from "../support/tools/git-http.ts";
import { createGitFixture, type GitFixture, put } from "../support/tools/git-fixture.ts";
import type { ToolsFixtureOptions } from "../support/tools-fixture.ts";

let base = "";
let home = "";
let fixture: GitFixture;
let server: GitServer;

/** The real gate, but for its list of hosts: what would reach this test's server is asked of the owner, as any listed host is. */
function withServer(real: Governance): Governance {
  const listed = (intent: Intent): Intent => {
    const { url } = intent.args;
    if (intent.capability !== "repo_ops" || typeof url !== "string" || !url.startsWith(server.url)) return intent;
    return { ...intent, args: { ...intent.args, url: "https://github.com/owner/project.git" } };
  };
  return {
    ...real,
    evaluate: (intent) => real.evaluate(listed(intent)),
    authorize: (intent, question, context) => real.authorize(listed(intent), question, context),
    redeem: (authorization, intent) => real.redeem(authorization, listed(intent)),
  };
}

function open(options: ToolsFixtureOptions = {}): void {
  fixture = createGitFixture({ base, home, ...options });
  fixture.answer("allow_once");
}

async function serve(options: Partial<GitServerOptions> = {}): Promise<void> {
  const root = join(base, "served");
  mkdirSync(root, { recursive: true });
  server = await startGitServer({ root, home, ...options });
}

/** A bare repository of the server with the commits of the workspace. */
function publish(name = "project.git"): string {
  const path = join(base, "served", name);
  fixture.gitIn(base, "clone", "-q", "--bare", fixture.workspace, path);
  fixture.gitIn(path, "config", "http.receivepack", "true");
  return path;
}

/** The network is on, with the shipped list of hosts. */
const networked: ToolsFixtureOptions = { wrap: withServer, networkEnabled: () => true };

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "lancelot-transfer-")));
  home = join(base, "home");
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_CONFIG_HOME", undefined);
  await serve();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
  fixture.close();
  rmSync(base, { recursive: true, force: true });
});

const stagingFolders = () => readdirSync(fixture.workspace).filter((name) => name.startsWith(".lancelot-"));

describe("git_clone", () => {
  it("clones over HTTP into a new folder, with its history", async () => {
    open(networked);
    publish();
    const outcome = await fixture.run("git_clone", { url: `${server.url}/project.git` });
    expect(outcome.text).toMatch(/^Cloned http:\/\/127\.0\.0\.1:\d+\/project\.git into project\. 2 files at [0-9a-f]{9}\.$/);
    expect(outcome).toMatchObject({ isError: false, card: { verdict: "ask" } });
    expect(fixture.read("project/dir/b.txt")).toBe("b\n");
    expect(fixture.gitIn(fixture.path("project"), "log", "--format=%s %D")).toContain("First HEAD -> main");
    expect(fixture.gitIn(fixture.path("project"), "status", "--porcelain")).toBe("");
    expect(stagingFolders()).toEqual([]);
    expect(fixture.ledger.get(outcome.receiptId ?? "")).toMatchObject({ status: "success", outputs: { path: "project", files: 2 } });
    expect(await fixture.run("git_clone", { url: `${server.url}/project.git` })).toMatchObject({
      text: expect.stringContaining("already exists"),
    });
  });

  it("takes the latest commits alone when a depth is given", async () => {
    open(networked);
    fixture.write("a.txt", "two\n");
    fixture.git("commit", "-qam", "Second");
    publish();
    expect((await fixture.run("git_clone", { url: `${server.url}/project.git`, path: "libs/p", depth: 1 })).isError).toBe(false);
    expect(fixture.gitIn(fixture.path("libs/p"), "log", "--format=%s")).toBe("Second\n");
  });

  it("leaves files of filters as they are kept, and submodules alone", async () => {
    open(networked);
    fixture.gitIn(base, "init", "-q", "sub");
    put(join(base, "sub/s.txt"), "s\n");
    fixture.gitIn(join(base, "sub"), "add", ".");
    fixture.gitIn(join(base, "sub"), "commit", "-qm", "Sub");
    fixture.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", join(base, "sub"), "sub");
    fixture.write(".gitattributes", "*.bin filter=lfs diff=lfs\n");
    fixture.write("big.bin", "version https://git-lfs.github.com/spec/v1\n");
    fixture.git("add", ".");
    fixture.git("commit", "-qm", "More");
    publish();
    const { text } = await fixture.run("git_clone", { url: `${server.url}/project.git` });
    expect(text).toContain("pointers");
    expect(text).toContain("1 submodules were not fetched: sub");
    expect(readdirSync(fixture.path("project/sub"))).toEqual([]);
  });

  it("clones an empty repository", async () => {
    open(networked);
    fixture.gitIn(base, "init", "-q", "--bare", join(base, "served/empty.git"));
    expect((await fixture.run("git_clone", { url: `${server.url}/empty.git` })).text).toContain("It has no commits yet.");
  });

  it.each<[string, string, RegExp]>([
    ["a repository that is not there", "missing.git", /no repository at/],
    ["a name in the path that is an option", "--upload-pack=x", /no repository at|not done|Blocked/],
  ])("says so of %s, and leaves nothing", async (_what, name, content) => {
    open(networked);
    const { text, isError } = await fixture.run("git_clone", { url: `${server.url}/${name}`, path: "there" });
    expect([isError, content.test(text)]).toEqual([true, true]);
    expect(existsSync(fixture.path("there"))).toBe(false);
    expect(stagingFolders()).toEqual([]);
  });

  it("does not follow to another address", async () => {
    open(networked);
    await server.close();
    const elsewhere = await startGitServer({ root: join(base, "served"), home });
    await serve({ redirect: elsewhere.url });
    publish();
    const { text, isError } = await fixture.run("git_clone", { url: `${server.url}/project.git` });
    expect([isError, text]).toEqual([true, expect.stringContaining("redirect")]);
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });

  it("ends the whole tree of processes when it is stopped, and leaves nothing", async () => {
    open(networked);
    await server.close();
    await serve({ silent: true });
    const controller = new AbortController();
    const running = fixture.run("git_clone", { url: `${server.url}/project.git` }, { signal: controller.signal });
    await vi.waitFor(() => expect(server.requests).not.toEqual([]));
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    if (process.platform === "linux") await vi.waitFor(() => expect(processesNaming(server.url)).toEqual([]));
    expect(stagingFolders()).toEqual([]);
  });

  it("leaves nothing for good when its host is killed: the next start and the next clone clean up", async () => {
    open(networked);
    await server.close();
    await serve({ silent: true });
    const killOne = async (): Promise<void> => {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, "../support/tools/clone-until-killed/main.ts"), base, `${server.url}/project.git`],
        {
          stdio: ["ignore", "pipe", "inherit"],
          env: { ...process.env, HOME: home },
        },
      );
      await once(child.stdout, "data");
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    await killOne();
    expect(stagingFolders()).toHaveLength(1);
    // Its own is still at work, and one of another machine may be.
    const mine = stagingFolder(fixture.workspace);
    const theirs = join(fixture.workspace, basename(mine).replace(/clone-[0-9a-f]{8}/, "clone-00000000"));
    const old = join(fixture.workspace, basename(theirs).replace(/-[0-9a-z]+-(?=[0-9a-f]{16}$)/, "-aaaaaa-"));
    for (const folder of [mine, theirs, old, fixture.path(".lancelot-clone-of-mine")]) put(join(folder, "f"), "f\n");
    expect(await sweepStaging(fixture.workspace)).toHaveLength(2);
    expect(stagingFolders().sort()).toEqual([basename(mine), basename(theirs), ".lancelot-clone-of-mine"].sort());
    await killOne();
    expect(stagingFolders()).toHaveLength(4);
    await server.close();
    await serve();
    publish();
    expect(await fixture.run("git_clone", { url: `${server.url}/project.git`, path: "other/deep/copy" })).toMatchObject({ isError: false });
    expect(stagingFolders()).toHaveLength(3);
    expect(existsSync(fixture.path("other/deep/copy/a.txt"))).toBe(true);
    expect(existsSync(fixture.path("deep"))).toBe(false);
  });

  it.each<[string, string, string]>([
    ["the network is off", "https://github.com/o/p.git", "TOOLS_NETWORK"],
    ["git would start a program", "ext::sh -c touch%20pwned", "start a program"],
    ["an option stands for it", "--upload-pack=touch pwned", "start a program"],
    ["ssh would be told an option", "ssh://-oProxyCommand=touch/x", "start a program"],
  ])("is denied when %s", async (_what, url, content) => {
    open();
    const outcome = await fixture.run("git_clone", { url, path: "there" });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain(content);
    expect(existsSync(fixture.path("there"))).toBe(false);
    expect(server.requests).toEqual([]);
  });

  it("reaches this machine and hosts that are not listed neither", async () => {
    open({ networkEnabled: () => true });
    publish();
    for (const url of [
      `${server.url}/project.git`,
      "https://169.254.169.254/x.git",
      "https://example.invalid/x.git",
      "git@example.invalid:o/p.git",
    ])
      expect(await fixture.run("git_clone", { url, path: "there" })).toMatchObject({ isError: true, card: { status: "denied" } });
    expect(server.requests).toEqual([]);
  });

  it("clones a folder of the workspace, and asks for one elsewhere", async () => {
    open();
    fixture.gitIn(base, "clone", "-q", "--bare", fixture.workspace, fixture.path("inside.git"));
    expect((await fixture.run("git_clone", { url: "inside.git", path: "one" })).isError).toBe(false);
    expect((await fixture.run("git_clone", { url: `file://${fixture.path("inside.git")}`, path: "two" })).isError).toBe(false);
    publish();
    fixture.answer("deny");
    const outcome = await fixture.run("git_clone", { url: join(base, "served/project.git"), path: "three" });
    expect(outcome).toMatchObject({ isError: true, card: { status: "denied", tier: "T3" } });
    expect([existsSync(fixture.path("one/a.txt")), existsSync(fixture.path("two/a.txt")), existsSync(fixture.path("three"))]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("git_push", () => {
  const setRemote = (url: string) => {
    fixture.git("remote", "add", "origin", url);
  };
  /** As a fetch leaves it; over the disk, since this process is the server. */
  const fetched = (bare: string) => fixture.git("fetch", "-q", bare, "+refs/heads/*:refs/remotes/origin/*");
  const next = (text: string) => {
    fixture.write("a.txt", text);
    fixture.git("commit", "-qam", text.trim());
    return fixture.git("rev-parse", "HEAD").trim();
  };

  it("pushes over HTTP, and the owner is asked with the commits and the address", async () => {
    open(networked);
    const bare = publish();
    setRemote(`${server.url}/project.git`);
    fetched(bare);
    const commit = next("two\n");
    const outcome = await fixture.run("git_push", {});
    expect(outcome).toMatchObject({ isError: false, card: { tier: "T3", verdict: "ask" } });
    expect(outcome.text).toContain("Pushed main");
    expect(fixture.gitIn(bare, "rev-parse", "main").trim()).toBe(commit);
    expect(fixture.git("rev-parse", "origin/main").trim()).toBe(commit);
    const approval = fixture.governance.approvals.list({ status: "allowed_once", limit: 5 })[0];
    expect(JSON.stringify(approval)).toContain("two");
    expect(JSON.stringify(approval)).toContain("/project.git");
    expect(fixture.ledger.search({ limit: 50 }).items.find(({ actionName }) => actionName === "git_push.verify")).toMatchObject({
      status: "success",
    });
  });

  it("pushes to a bare repository on disk without running its hooks", async () => {
    open();
    const bare = publish();
    for (const hook of ["pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"])
      put(join(bare, "hooks", hook), `#!/bin/sh\necho ${hook} >> ${join(base, "sprung")}\n`, 0o755);
    setRemote(bare);
    const commit = next("two\n");
    expect((await fixture.run("git_push", { remote: "origin", branch: "main" })).isError).toBe(false);
    expect(fixture.gitIn(bare, "rev-parse", "main").trim()).toBe(commit);
    expect(existsSync(join(base, "sprung"))).toBe(false);
  });

  it("never rewrites the other side unless force is asked for by name", async () => {
    open(networked);
    const bare = publish();
    setRemote(`${server.url}/project.git`);
    fetched(bare);
    next("two\n");
    await fixture.run("git_push", {});
    fixture.git("reset", "-q", "--hard", "HEAD~1");
    const other = next("other\n");
    expect((await fixture.run("git_push", {})).text).toContain("has commits that this branch lacks");
    expect((await fixture.run("git_push", { branch: "+main" })).text).toContain("force: true");
    expect((await fixture.run("git_push", { branch: ":main" })).text).toContain("deleted");
    expect(fixture.gitIn(bare, "rev-parse", "main").trim()).not.toBe(other);
    const forced = await fixture.run("git_push", { force: true });
    expect(forced).toMatchObject({ isError: false, card: { title: "Git push --force origin" } });
    expect(forced.card.rules?.some(({ id }) => id === "repository.force-push")).toBe(true);
    expect(fixture.gitIn(bare, "rev-parse", "main").trim()).toBe(other);
  });

  it("with force, replaces only what the owner was told of", async () => {
    open(networked);
    const bare = publish();
    setRemote(`${server.url}/project.git`);
    fetched(bare);
    fixture.gitIn(base, "clone", "-q", bare, "colleague");
    put(join(base, "colleague/c.txt"), "c\n");
    fixture.gitIn(join(base, "colleague"), "add", ".");
    fixture.gitIn(join(base, "colleague"), "commit", "-qm", "Theirs");
    fixture.gitIn(join(base, "colleague"), "push", "-q");
    next("two\n");
    expect((await fixture.run("git_push", { force: true })).text).toContain("has commits that this branch lacks");
    expect(fixture.gitIn(bare, "log", "-1", "--format=%s", "main")).toBe("Theirs\n");
  });

  it("signs in with the owner's own helper, never with one of the repository", async () => {
    open(networked);
    await server.close();
    await serve({ credentials: "owner:pass word" });
    const bare = publish();
    setRemote(`${server.url}/project.git`);
    const commit = next("two\n");
    const evil = join(base, "evil.sh");
    put(evil, `#!/bin/sh\necho ran >> ${join(base, "sprung")}\necho username=evil\necho password=evil\n`, 0o755);
    fixture.git("config", "credential.helper", `!${evil}`);
    fixture.git("config", `credential.${server.url}.helper`, `!${evil}`);
    fixture.git("config", "http.extraHeader", "Authorization: Basic ZXZpbDpldmls");
    const refused = await fixture.run("git_push", {});
    expect(refused.text).toContain("credential.helper");
    put(join(home, "helper.sh"), '#!/bin/sh\n[ "$1" = get ] && printf "username=owner\\npassword=pass word\\n"\n', 0o755);
    put(
      join(home, ".gitconfig"),
      `${readFileSync(join(home, ".gitconfig"), "utf8")}[credential]\n\thelper = "${join(home, "helper.sh")}"\n`,
    );
    const pushed = await fixture.run("git_push", {});
    expect(pushed.isError).toBe(false);
    expect(fixture.gitIn(bare, "rev-parse", "main").trim()).toBe(commit);
    expect(existsSync(join(base, "sprung"))).toBe(false);
    expect(server.requests.map(({ user }) => user)).not.toContain("evil");
    expect(JSON.stringify(fixture.ledger.search({ limit: 100 }).items)).not.toContain("pass word");
  });

  it("goes where the remote's own address says, whatever the repository would rewrite it to", async () => {
    open(networked);
    const bare = publish();
    const trap = join(base, "sprung");
    setRemote(`${server.url}/project.git`);
    fixture.git("config", `url.ext::sh -c touch% ${trap} #.insteadOf`, server.url);
    fixture.git("config", `url.ext::sh -c touch% ${trap} #.pushInsteadOf`, server.url);
    fixture.git("config", "remote.origin.receivepack", `touch ${trap}`);
    fixture.git("config", "remote.origin.vcs", "ext");
    fixture.git("config", "remote.origin.proxy", "http://127.0.0.1:1");
    put(fixture.path(".git/hooks/pre-push"), `#!/bin/sh\ntouch ${trap}\n`, 0o755);
    const commit = next("two\n");
    expect((await fixture.run("git_push", {})).isError).toBe(false);
    expect(fixture.gitIn(bare, "rev-parse", "main").trim()).toBe(commit);
    expect(existsSync(trap)).toBe(false);
  });

  it.each<[string, string, string]>([
    ["ext", "ext::sh -c touch% pwned", "https address"],
    ["ssh", "git@example.invalid:o/p.git", "https address"],
    ["a host that is not listed", "https://example.invalid/o/p.git", "allowlist"],
    ["metadata", "https://169.254.169.254/o/p.git", "always blocked"],
    ["http elsewhere", "http://example.invalid/o/p.git", "https address"],
    ["an option", "--receive-pack=x", "https address"],
  ])("is refused for %s", async (_what, url, content) => {
    open({ networkEnabled: () => true });
    fixture.git("config", "remote.origin.url", url);
    const outcome = await fixture.run("git_push", {});
    expect([outcome.isError, outcome.text]).toEqual([true, expect.stringContaining(content)]);
  });

  it("is not done when the network is off, nor when the owner says no", async () => {
    open();
    fixture.git("config", "remote.origin.url", "https://github.com/o/p.git");
    expect((await fixture.run("git_push", {})).text).toContain("TOOLS_NETWORK");
    fixture.git("config", "remote.origin.url", publish());
    const commit = next("two\n");
    fixture.answer("deny", "Not now");
    expect(await fixture.run("git_push", {})).toMatchObject({
      isError: true,
      card: { status: "denied" },
      text: expect.stringContaining("Not now"),
    });
    expect(fixture.gitIn(join(base, "served/project.git"), "rev-parse", "main").trim()).not.toBe(commit);
  });

  it("says so of a remote, or a branch, that is not there", async () => {
    open();
    expect((await fixture.run("git_push", {})).text).toContain("no remote origin");
    setRemote(publish());
    expect((await fixture.run("git_push", { branch: "none" })).text).toContain("no branch none");
    fixture.git("checkout", "-q", "--detach");
    expect((await fixture.run("git_push", {})).text).toContain("detached");
  });
});

/** Processes of this machine whose command line names something. */
function processesNaming(content: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(content);
    } catch {
      return false;
    }
  });
}
