// A container engine of the tests' own: dockerd on its own socket, with images made on this machine, without any registry.
// Runs on Node 20 with nothing installed. Data folders are kept in the cache, so images are made once.
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { locate, systemPath, whyWithout } from "./machine.mjs";
import { cacheDir, projectNode } from "./project.mjs";
import { has, run, SetupError } from "./say.mjs";

/** busybox and nothing else. The number is that of what is in it: images are kept. */
export const smallImage = "lancelot-test:small-1";
/** bash, coreutils, git, python3, node: the machine's own. */
export const toolsImage = "lancelot-test:tools-1";
const folders = () => join(cacheDir(), "engine");
const env = { ...process.env, PATH: systemPath };

/**
 * Starts an engine that belongs to this process alone.
 * @param {{ images?: readonly string[], hosts?: readonly string[], config?: Record<string, unknown> }} [options] images to have ready:
 *   the small one when nothing is said; more addresses to listen at; more of the engine's configuration
 */
export async function startEngine(options = {}) {
  const reason = whyWithout("engine");
  if (reason !== null) throw new SetupError(reason);
  const slot = takeSlot();
  await endLeft(slot.path);
  const folder = mkdtempSync(join(tmpdir(), "lancelot-engine-"));
  const socket = join(folder, "docker.sock");
  const config = join(folder, "daemon.json");
  const state = { child: null };
  const start = async (driver = readDriver(slot.path)) => {
    writeFileSync(
      config,
      JSON.stringify({
        "data-root": join(slot.path, driver),
        "exec-root": join(folder, "exec"),
        pidfile: join(folder, "docker.pid"),
        hosts: [`unix://${socket}`, ...(options.hosts ?? [])],
        "storage-driver": driver,
        bridge: "none",
        iptables: false,
        ip6tables: false,
        "ip-forward": false,
        "ip-masq": false,
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
        "cgroup-parent": "/lancelot",
        ...options.config,
      }),
    );
    // A killed engine's: the process may be dead and not yet noticed by whoever it belongs to now.
    for (const left of ["docker.pid", "exec/containerd/containerd.pid"]) rmSync(join(folder, left), { force: true });
    const log = openSync(join(folder, "engine.log"), "a");
    const child = spawn(locate("dockerd"), ["--config-file", config], {
      env,
      stdio: ["ignore", log, log],
      detached: true,
    });
    closeSync(log);
    child.on("error", () => {});
    state.child = child;
    writeFileSync(join(slot.path, "engine.pid"), String(child.pid));
    const end = Date.now() + 30_000;
    while (!(await isEngineThere(socket))) {
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > end) {
        const said = readFileSync(join(folder, "engine.log"), "utf8").split("\n").slice(-8).join("\n");
        // Not every disk can hold overlays.
        if (driver === "overlay2" && child.exitCode !== null && said.includes("driver not supported")) return start("vfs");
        throw new SetupError(`The container engine did not start:\n${said}`);
      }
      await pause(20);
    }
    writeFileSync(join(slot.path, "driver"), driver);
  };
  const kill = async (signal) => {
    const { child } = state;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    if ((await Promise.race([gone, pause(10_000).then(() => "late")])) === "late") {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
      await gone;
    }
  };
  const atExit = () => state.child?.kill("SIGTERM");
  process.once("exit", atExit);
  try {
    await start();
    await forget(socket);
    for (const image of options.images ?? [smallImage]) await ensureImage(socket, image);
  } catch (error) {
    await kill("SIGKILL");
    slot.release();
    throw error;
  }
  return {
    socket,
    folder,
    get pid() {
      return state.child?.pid ?? 0;
    },
    /** Sends a signal to the engine alone. */
    signal: (name) => void state.child?.kill(name),
    kill,
    start: () => start(),
    async stop() {
      process.removeListener("exit", atExit);
      await kill("SIGTERM");
      // An engine that was killed while it created a container leaves mounts.
      for (const [, path] of readFileSync("/proc/mounts", "utf8").matchAll(/^\S+ (\S+)/gm))
        if (path.startsWith(`${folder}/`)) spawnSync("umount", ["-l", path], { stdio: "ignore" });
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      slot.release();
    },
  };
}

/** A data folder that no other process uses now. */
function takeSlot() {
  for (let index = 0; index < 16; index += 1) {
    const path = join(folders(), `slot-${index}`);
    mkdirSync(path, { recursive: true });
    const lock = join(path, "lock");
    const owner = numberIn(lock);
    if (owner !== null && owner !== process.pid && existsSync(`/proc/${owner}`)) continue;
    if (owner === process.pid && existsSync(join(path, "used"))) continue;
    rmSync(lock, { force: true });
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
    } catch {
      continue; // somebody else was faster
    }
    writeFileSync(join(path, "used"), "");
    return {
      path,
      release() {
        for (const name of ["used", "engine.pid", "lock"]) rmSync(join(path, name), { force: true });
      },
    };
  }
  throw new SetupError(`All container engines of the tests are in use (${folders()}).`);
}

/** Ends the engine that a process which is gone left running, so that it ends its containers. */
async function endLeft(path) {
  const left = numberIn(join(path, "engine.pid"));
  const runs = () => left !== null && /^\S*dockerd\0/.test(commandLine(left));
  for (const [signal, seconds] of [
    ["SIGTERM", 15],
    ["SIGKILL", 5],
  ]) {
    if (!runs()) return;
    process.kill(left, signal);
    for (const end = Date.now() + seconds * 1000; runs() && Date.now() < end; ) await pause(50);
  }
}

function numberIn(file) {
  try {
    return Number(readFileSync(file, "utf8")) || null;
  } catch {
    return null;
  }
}

function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

function readDriver(path) {
  try {
    return readFileSync(join(path, "driver"), "utf8");
  } catch {
    return "overlay2";
  }
}

/** Containers and volumes of earlier runs, and images that tests built. */
async function forget(socket) {
  for (const { Id } of JSON.parse((await ask(socket, "GET", "/containers/json?all=1")).body))
    await ask(socket, "DELETE", `/containers/${Id}?force=1`);
  for (const { Name } of JSON.parse((await ask(socket, "GET", "/volumes")).body).Volumes ?? [])
    await ask(socket, "DELETE", `/volumes/${Name}`);
  const ours = [smallImage, toolsImage];
  for (const { Id, RepoTags } of JSON.parse((await ask(socket, "GET", "/images/json")).body))
    if (!RepoTags?.some((tag) => ours.includes(tag))) await ask(socket, "DELETE", `/images/${Id}?force=1`);
}

/** True when something answers at the socket as an engine does. */
export const isEngineThere = (socket) =>
  ask(socket, "GET", "/_ping").then(
    ({ status }) => status === 200,
    () => false,
  );

/** Makes one of the tests' images where the engine does not have it. Podman wants the tag with the repository's name. */
export async function ensureImage(socket, image, repository = image.split(":")[0]) {
  if ((await ask(socket, "GET", `/images/${image}/json`)).status === 200) return;
  const make = { [smallImage]: smallTree, [toolsImage]: toolsTree }[image];
  if (make === undefined) throw new SetupError(`The tests know no image ${image}.`);
  const folder = mkdtempSync(join(tmpdir(), "lancelot-image-"));
  try {
    const archive = await make(folder);
    const tag = image.split(":")[1];
    const answer = await ask(socket, "POST", `/images/create?fromSrc=-&repo=${encodeURIComponent(repository)}&tag=${tag}`, archive);
    if (answer.status !== 200 || answer.body.includes('"error"'))
      throw new SetupError(`The image ${image} could not be made: ${answer.body}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns {Promise<string>} path of an archive */
async function smallTree(folder) {
  const tree = join(folder, "tree");
  for (const name of ["bin", "dev", "etc", "proc", "run", "sys", "tmp", "var"]) mkdirSync(join(tree, name), { recursive: true });
  // The engine gives a tmpfs the mode of the folder it lies over.
  chmodSync(join(tree, "tmp"), 0o1777);
  writeFileSync(join(tree, "etc/passwd"), "root:x:0:0::/:/bin/sh\nowner:x:1000:1000::/tmp/home:/bin/sh\n");
  await run("cp", [locate("busybox"), join(tree, "bin/busybox")], { quiet: true });
  const names = await run(join(tree, "bin/busybox"), ["--list"], { quiet: true });
  for (const name of names.split("\n")) if (name !== "" && name !== "busybox") symlinkSync("busybox", join(tree, "bin", name));
  return pack(folder, ["-C", tree, "."]);
}

/** Programs of this machine with the libraries they load: what a task needs to work on a project. */
async function toolsTree(folder) {
  const tree = join(folder, "tree");
  mkdirSync(join(tree, "usr/local/bin"), { recursive: true });
  await run("cp", [realpathSync(projectNode()), join(tree, "usr/local/bin/node")], { quiet: true });
  const packages = ["base-files", "bash", "coreutils", "findutils", "git", "grep", "gzip", "libc-bin", "mawk", "procps", "sed", "tar"];
  packages.push("dash", "diffutils", "python3-minimal", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib");
  const installed = [];
  for (const name of packages) if (await has("dpkg", ["-s", name])) installed.push(name);
  const listed = (await run("dpkg", ["-L", ...installed], { quiet: true })).split("\n");
  const files = new Set(["/bin", "/lib", "/lib64", "/sbin", "/usr/bin", "/usr/lib", "/tmp", "/proc", "/sys", "/dev", "/run"]);
  for (const path of listed)
    if (path.startsWith("/") && path !== "/." && existsSync(path) && !/^\/usr\/share\/(doc|man|locale|info|bash-completion)/.test(path))
      files.add(path);
  const programs = [...files].filter((path) => /\/(s?bin|git-core)\/[^/]+$/.test(path) || /\.so(\.\d+)*$/.test(path));
  const libraries = await run("sh", ["-c", `ldd "$@" 2>/dev/null | grep -o '/[^ ]*' | sort -u; true`, "sh", ...programs, projectNode()], {
    quiet: true,
  });
  for (const path of libraries.split("\n"))
    if (path.startsWith("/") && !path.endsWith(":")) for (const each of [path, realpathSync(path)]) files.add(each);
  const list = join(folder, "files");
  // By their true folders: /lib is a link, and what it leads to comes later in the archive.
  const paths = [...files].filter((path) => existsSync(path)).map((path) => join(realpathSync(dirname(path)), basename(path)));
  writeFileSync(list, [...new Set(paths)].join("\n"));
  return pack(folder, ["-C", tree, "./usr/local/bin/node", "-C", "/", "--no-recursion", "--files-from", list]);
}

async function pack(folder, args) {
  const archive = join(folder, "image.tar");
  await run("tar", ["-cPf", archive, "--hard-dereference", "--transform", "flags=r;s,^/,,", ...args], { quiet: true });
  return archive;
}

/** One request over the engine's socket; `file` is sent as its body. */
function ask(socketPath, method, path, file) {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path, headers: file ? { "Content-Type": "application/x-tar" } : {} }, (answer) => {
      let body = "";
      answer.setEncoding("utf8");
      answer.on("data", (text) => (body += text));
      answer.on("end", () => resolve({ status: answer.statusCode, body }));
      answer.on("error", reject);
    });
    sent.on("error", reject);
    if (file === undefined) sent.end();
    else
      import("node:fs").then(({ createReadStream }) => {
        createReadStream(file).on("error", reject).pipe(sent);
      }, reject);
  });
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
