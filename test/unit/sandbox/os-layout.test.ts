import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findCommandProcesses } from "../../../agent-server/sandbox/host/process-tree.ts";
import { installAdvice } from "../../../agent-server/sandbox/os/setup-advice.ts";
import { findMisplacedMount, type Mount, workspaceMounts } from "../../../agent-server/sandbox/os/mount-layout.ts";
import { seccompFilter } from "../../../agent-server/sandbox/os/seccomp.ts";

const nothing = { files: [], folders: [] };
const maskFolder = "/tmp/lancelot-masks-1-x";

let outer: string;
let workspace: string;
beforeEach(() => {
  outer = realpathSync(mkdtempSync(join(tmpdir(), "lancelot layout-")));
  workspace = join(outer, "project");
  mkdirSync(join(workspace, ".git/hooks"), { recursive: true });
  mkdirSync(join(workspace, "a/b"), { recursive: true });
  writeFileSync(join(workspace, "a/b/c"), "");
});
afterEach(() => rmSync(outer, { recursive: true, force: true }));

describe("mounts of a workspace", () => {
  const kinds = (mounts: readonly Mount[]) => mounts.map(({ kind, path }) => `${kind} ${path.slice(workspace.length)}`);

  it("are the workspace, each folder above a protected path, and that path read-only", () => {
    const { mounts, missing } = workspaceMounts(workspace, "/nowhere", ["a/b/c"], nothing);
    expect(kinds(mounts).filter((one) => !one.includes(".git"))).toEqual(["write ", "write /a", "write /a/b", "read /a/b/c"]);
    expect(kinds(mounts)).toContain("read /.git/hooks");
    expect(missing.map((path) => path.slice(workspace.length))).toEqual(
      expect.arrayContaining(["/.git/config", "/.git/commondir", "/.git/config.worktree", "/.git/info"]),
    );
  });

  it("exclude paths below read-only ones, and list the first missing one", () => {
    const { mounts, missing } = workspaceMounts(workspace, "/nowhere", ["a/b", "a/b/c", "a/new/deep/file"], nothing);
    expect(kinds(mounts).filter((one) => one.includes("/a"))).toEqual(["write /a", "read /a/b", "read /a/new"]);
    expect(missing).toContain(join(workspace, "a/new"));
  });

  it("skip links, outside paths, and the workspace itself", () => {
    symlinkSync("/etc", join(workspace, "link"));
    const before = workspaceMounts(workspace, "/nowhere", [], nothing).mounts;
    const paths = ["link", "link/passwd", "../x", "/etc/passwd", ".", workspace];
    expect(workspaceMounts(workspace, "/nowhere", paths, nothing).mounts).toEqual(before);
  });

  it("hide secret files in read-only folders too, and nothing below a hidden folder", () => {
    const at = (...paths: string[]) => paths.map((path) => join(workspace, path));
    mkdirSync(join(workspace, ".ssh/keys"), { recursive: true });
    for (const path of [".env", ".git/hooks/.env", ".ssh/keys/id"]) writeFileSync(join(workspace, path), "");
    symlinkSync(".env", join(workspace, "link.env"));
    const masked = {
      files: at(".env", ".git/hooks/.env", ".ssh/keys/id", "link.env", "gone.env", "a"),
      folders: at(".ssh", ".ssh/keys", "gone"),
    };
    const { mounts } = workspaceMounts(workspace, "/nowhere", [".ssh/keys/id", ".git/hooks"], masked);
    expect(kinds(mounts).filter((one) => /^(mask|hide)/.test(one))).toEqual(["mask /.env", "hide /.ssh", "mask /.git/hooks/.env"]);
    expect(kinds(mounts)).toContain("read /.git/hooks");
    expect(kinds(mounts).filter((one) => one.includes(".ssh/"))).toEqual([]);
  });
});

describe("verification of the kernel's mounts", () => {
  const mounts = (): Mount[] => [
    { kind: "write", path: workspace },
    { kind: "write", path: join(workspace, ".git") },
    { kind: "read", path: join(workspace, ".git/hooks") },
    { kind: "mask", path: join(workspace, ".git/hooks/.env") },
  ];
  const secret = () => join(workspace, ".git/hooks/.env");
  const escaped = (path: string) => path.replaceAll(" ", String.raw`\040`);
  const line = (root: string, path: string, device = "254:0") => `1 1 ${device} ${escaped(root)} ${escaped(path)} rw - ext4 /dev/vda rw`;
  const usual = (more: string[] = [], without: string[] = []) =>
    [
      line("/newroot", "/"),
      line("/usr", "/usr"),
      line("/", "/tmp"),
      ...mounts()
        .filter(({ path }) => !without.includes(path))
        .map(({ path, kind }) => (kind === "mask" ? line(`${maskFolder}/mask-0-0`, path, "0:5") : line(`/disk${path}`, path))),
      ...more,
    ].join("\n");

  it("accepts the intended mounts", () => {
    expect(findMisplacedMount(usual(), workspace, mounts(), [], maskFolder)).toBeNull();
  });

  it.each<[string, () => string, RegExp]>([
    ["the home folder over the one that holds the workspace", () => usual([line("/home/o", join(workspace, ".."))]), /mounted at/],
    ["another folder once more over the one for temporary files", () => usual([line("/home/o", "/tmp")]), /mounted at \/tmp once more/],
    ["something else in the workspace", () => usual([line("/home/o", join(workspace, "a"))]), /mounted at/],
    [
      "a protected folder that shows another",
      () => usual([line("/home/o/.ssh", join(workspace, ".git/hooks"))], [join(workspace, ".git/hooks")]),
      /shows \/home\/o\/\.ssh/,
    ],
    [
      "one of another disk",
      () => usual([line(`/disk${workspace}/.git/hooks`, join(workspace, ".git/hooks"), "8:1")], [join(workspace, ".git/hooks")]),
      /shows/,
    ],
    ["a protected folder that is not mounted", () => usual([], [join(workspace, ".git/hooks")]), /hooks is missing/],
    ["no workspace", () => line("/", "/"), /workspace is missing/],
    ["a secret file that is not masked", () => usual([], [secret()]), /\.env is missing/],
    ["a secret file that shows itself", () => usual([line(`/disk${secret()}`, secret())], [secret()]), /shows/],
  ])("detects: %s", (_name, text, message) => {
    expect(findMisplacedMount(text(), workspace, mounts(), [], maskFolder)).toMatch(message);
  });
});

describe("processes of a command on the host", () => {
  const entries = [
    { pid: 11, parent: 1, group: 10 },
    { pid: 12, parent: 11, group: 12 },
    { pid: 13, parent: 12, group: 13 },
    { pid: 20, parent: 1, group: 20 },
    { pid: 21, parent: 20, group: 20 },
    { pid: 30, parent: 1, group: 30 },
  ];
  const environment = (pid: number) => (pid === 20 ? "A=1\0LANCELOT_COMMAND=x\0" : "A=1\0");

  it("are its group, its descendants, and those with its marker", () => {
    expect(findCommandProcesses(10, "LANCELOT_COMMAND=x", entries, environment).toSorted((a, b) => a - b)).toEqual([11, 12, 13, 20, 21]);
  });

  it("exclude a new process with the same id, and its group", () => {
    const reused = [...entries, { pid: 10, parent: 1, group: 10 }];
    expect(findCommandProcesses(10, "LANCELOT_COMMAND=x", reused, environment).toSorted((a, b) => a - b)).toEqual([20, 21]);
  });
});

it.each([
  ['ID=ubuntu\nID_LIKE="debian"\n', /sudo apt install bubblewrap socat$/],
  ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', /sudo dnf install/],
  ["ID=arch\n", /sudo pacman -S/],
  ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', /sudo zypper install/],
  ["ID=alpine\n", /sudo apk add/],
  ["ID=other\n", /^Install bubblewrap and socat with/],
  ["", /^Install bubblewrap and socat with/],
])("suggests packages for the distribution: %j", (release, message) => {
  expect(installAdvice(["bubblewrap", "socat"], release)).toMatch(message);
});

describe("the filter of system calls", () => {
  /** What the filter answers, by running it as the kernel does. */
  function answer(arch: string, audit: number, call: number, first = 0, second = 0): number {
    const filter = seccompFilter(arch);
    if (filter === null) throw new Error("no filter");
    const view = new DataView(filter.buffer);
    const data = new Map([
      [0, call],
      [4, audit],
      [16, first],
      [24, second],
    ]);
    let held = 0;
    for (let at = 0; at * 8 < filter.length; at += 1) {
      const code = view.getUint16(at * 8, true);
      const [yes, no, value] = [view.getUint8(at * 8 + 2), view.getUint8(at * 8 + 3), view.getUint32(at * 8 + 4, true)];
      if (code === 0x20) held = data.get(value) ?? 0;
      else if (code === 0x06) return value;
      else {
        const holds = code === 0x15 ? held === value : code === 0x35 ? held >= value : (held & value) !== 0;
        at += holds ? yes : no;
      }
    }
    throw new Error("It ran off its end.");
  }
  const allow = 0x7fff0000;
  const refused = 0x00050001;
  const unknown = 0x00050026;

  it.each([
    ["x64", 0xc000003e, { read: 0, clone: 56, ioctl: 16, socket: 41, mount: 165, keyctl: 250 }],
    ["arm64", 0xc00000b7, { read: 63, clone: 220, ioctl: 29, socket: 198, mount: 40, keyctl: 219 }],
  ])("decides each call: %s", (arch, audit, { read, clone, ioctl, socket, mount, keyctl }) => {
    const ask = (...args: [number, number?, number?]) => answer(arch, audit, ...args);
    expect([ask(read), ask(clone, 0x11), ask(ioctl, 0, 0x5401), ask(socket, 1), ask(socket, 2)]).toEqual(
      Array.from({ length: 5 }, () => allow),
    );
    expect([ask(mount), ask(keyctl), ask(clone, 0x10000011), ask(ioctl, 0, 0x5412), ask(socket, 40), ask(socket, 38)]).toEqual(
      Array.from({ length: 6 }, () => refused),
    );
    expect([ask(435), ask(425)]).toEqual([unknown, unknown]);
    expect(answer(arch, 0x40000003, read)).toBe(0x80000000);
  });

  it("denies calls of the x32 table, and is null for unknown processors", () => {
    expect(answer("x64", 0xc000003e, 0x40000000 + 16, 0, 0x5412)).toBe(unknown);
    expect(seccompFilter("riscv64")).toBeNull();
    expect(seccompFilter("toString")).toBeNull();
  });
});
