import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import { skippedWithout } from "../setup/machine.mjs";
import { root } from "../setup/project.mjs";

const reason = skippedWithout("engine");

/**
 * The socket of an engine of root that an ordinary user may use, as members of the docker group do. Only root can start it: import this
 * before `ordinary-user.ts`. It ends with this process. Null where it cannot be started.
 */
export const engineOfRoot: string | null = reason === null ? await start() : null;

async function start(): Promise<string> {
  const child = spawn(process.execPath, [join(root, "test/support/engine/engine-of-root/main.ts")], { stdio: ["pipe", "pipe", "ignore"] });
  const [bytes] = (await once(child.stdout, "data")) as [Buffer];
  // Its end is that of this process.
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as Socket).unref();
  return bytes.toString("utf8").trim();
}
