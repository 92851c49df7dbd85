// @module-tag ordinary-user
// @module-tag sandbox
import { ordinary } from "../support/sandbox/ordinary-user.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createHostTermination } from "../../agent-server/sandbox/container/host-termination.ts";

/** A PID namespace stands for the container's: for this, only the namespace and the marker matter. */
const children: ChildProcess[] = [];
let mark: string;
beforeEach(() => {
  expect(ordinary).toBe(true);
  mark = randomBytes(8).toString("hex");
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

const env = () => ({ PATH: process.env["PATH"], LANCELOT_RUN: mark });
/** Starts a program and waits until it speaks. */
async function start(program: string, args: string[]): Promise<{ child: ChildProcess; over: Promise<unknown> }> {
  const child = spawn(program, args, { env: env(), stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  const over = once(child, "exit");
  await once(child.stdout, "data");
  return { child, over };
}
const inNamespace = (script: string) =>
  start("bwrap", [
    "--unshare-user",
    "--unshare-pid",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--",
    "sh",
    "-c",
    script,
  ]);

it("every process of the namespace of a command is ended, one without its environment as well", async () => {
  const { over } = await inNamespace("env -i setsid sleep 600 & (trap '' TERM HUP; sleep 600) & echo on; sleep 600");
  expect(await createHostTermination(mark, true).kill()).toBe(true);
  await over;
});

it("one that is over is confirmed again, and one that was never found is not", async () => {
  const { over } = await inNamespace("echo on; sleep 600");
  const found = createHostTermination(mark, true);
  expect(await found.kill()).toBe(true);
  await over;
  expect(await found.kill()).toBe(true);
  expect(await createHostTermination(mark, true).kill()).toBe(false);
});

it("processes of this machine are never ended, whatever their environment says, nor anything when the engine is elsewhere", async () => {
  const { child } = await start("sh", ["-c", "echo on; exec sleep 600"]);
  expect(await createHostTermination(mark, true).kill()).toBe(false);
  expect(child.exitCode ?? child.signalCode).toBeNull();
  const { child: other } = await inNamespace("echo on; sleep 600");
  expect(await createHostTermination(mark, false).kill()).toBe(false);
  expect(other.exitCode ?? other.signalCode).toBeNull();
});
