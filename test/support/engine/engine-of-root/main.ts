/** Starts an engine as root that everybody may use, prints its socket, and ends it with standard input. */
import { chmodSync } from "node:fs";
import { startEngine } from "../../setup/engine.mjs";

const engine = await startEngine();
chmodSync(engine.folder, 0o755);
chmodSync(engine.socket, 0o666);
process.stdout.write(`${engine.socket}\n`);
process.stdin.resume();
process.stdin.once("end", () => void engine.stop());
