// Podman's service of the tests' own, with an image made on this machine. Runs on Node 20 with nothing installed.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureImage, isEngineThere } from "./engine.mjs";
import { systemPath, whyWithout } from "./machine.mjs";
import { run, SetupError } from "./say.mjs";

/** Starts Podman's service with folders of its own. @throws SetupError */
export async function startPodman(image) {
  const reason = whyWithout("podman");
  if (reason !== null) throw new SetupError(reason);
  const folder = mkdtempSync(join(tmpdir(), "lancelot-podman-"));
  const socket = join(folder, "podman.sock");
  const config = join(folder, "containers.conf");
  // No systemd: events in a file, cgroups by hand.
  writeFileSync(config, '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "runc"\n');
  const policy = join(folder, "home/.config/containers/policy.json");
  mkdirSync(join(policy, ".."), { recursive: true });
  writeFileSync(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
  const args = ["--root", join(folder, "root"), "--runroot", join(folder, "run")];
  const env = { ...process.env, PATH: systemPath, CONTAINERS_CONF: config, HOME: join(folder, "home") };
  const child = spawn("podman", [...args, "system", "service", "--time=0", `unix://${socket}`], { env, cwd: folder, stdio: "ignore" });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.on("error", () => {});
  const atExit = () => child.kill("SIGTERM");
  process.once("exit", atExit);
  const stop = async () => {
    process.removeListener("exit", atExit);
    child.kill("SIGTERM");
    await gone;
    // What looks after a container goes a moment later than the service, and takes its mounts with it.
    const until = Date.now() + 10_000;
    for (;;) {
      for (const line of readFileSync("/proc/mounts", "utf8").split("\n").toReversed()) {
        const at = line.split(" ")[1] ?? "";
        if (at === folder || at.startsWith(`${folder}/`)) await run("umount", ["-l", at], { quiet: true }).catch(() => undefined);
      }
      try {
        return rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      } catch (error) {
        if (Date.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  const end = Date.now() + 20_000;
  while (!(await isEngineThere(socket))) {
    if (child.exitCode !== null || Date.now() > end) {
      await stop();
      throw new SetupError("Podman's service did not start.");
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await ensureImage(socket, image, image);
  return { socket, stop };
}
