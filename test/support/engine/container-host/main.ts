// A process of its own that runs one command in a container and says when it has begun: for tests that kill it.
// Arguments: workspace, data folder, address of the engine, host id, command, folder of a task where it runs in a view.
import { openContainer } from "../container-fixture.ts";
import { isolationLimits } from "../../sandbox/limits.ts";

const [workspace = "", dataDir = "", host = "", hostId = "", command = "", folder = ""] = process.argv.slice(2);
const shell = openContainer({ workspace, dataDir, protectedPaths: [] }, host, isolationLimits, { hostId, hostAlive: () => true });
const view = folder === "" ? undefined : await shell.openView?.({ folder, layers: [{ name: "workspace", lower: workspace }] });
await shell.run({
  command,
  cwd: workspace,
  timeoutMs: 600_000,
  outputBytes: 1_000,
  network: false,
  ...(view === undefined ? {} : { view }),
  signal: new AbortController().signal,
  onStarted: () => process.stdout.write("started\n"),
  onOutput: (_stream, bytes) => process.stdout.write(bytes),
});
