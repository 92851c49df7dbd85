import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGovernanceFixture, type GovernanceFixture, intent } from "../../support/governance-fixture.ts";
import { createPathWorkspace, type PathWorkspace } from "../../support/path-workspace.ts";

let tree: PathWorkspace;
let fixture: GovernanceFixture;

beforeAll(async () => {
  tree = await createPathWorkspace();
  const { workspace, dataDir, configDir, home } = tree;
  fixture = createGovernanceFixture({ workspace, dataDir, configDir, home });
});
afterAll(() => {
  fixture.dispose();
  tree.dispose();
});

const judged = (capability: string, args: Record<string, unknown>, action: string): string => {
  const { verdict, tier } = fixture.governance.evaluate(intent(capability, action, args));
  return `${verdict} ${tier}`;
};
const byTool = (path: string): string => judged("file_ops", { path }, "read");
const byCommand = (command: string, args: Record<string, unknown> = {}): string => judged("shell_exec", { command, ...args }, "run");

describe("a read outside of the workspace", () => {
  it.each([
    ...["../x", "../outside/file.txt", "src/../../outside/file.txt", "{base}/outside/file.txt", "/tmp/x", "/var/log/syslog", "~/notes.txt"],
    ...["link-out-dir/file.txt", "../proj-evil/x.txt", "/root/x", "/opt/x"],
  ])("of %s is judged the same by a command and by a file tool, watched and on this machine", (spelled) => {
    const path = tree.expand(spelled.replace("{base}", "{workspace}/.."));
    expect(byTool(path)).toBe("ask T3");
    for (const command of [`cat ${path}`, `head -1 ${path}`, `wc -l < ${path}`, `grep x ${path}`])
      for (const args of [{}, { place: "host" }]) expect(byCommand(command, args), command).toBe("ask T3");
  });

  it.each(["../.env", "~/.ssh/id_rsa", "~/.aws/credentials"])("of the secret %s is denied by both", (path) => {
    expect([byTool(path), byCommand(`cat ${path}`)]).toEqual(["deny T3", "deny T3"]);
  });

  it.each(["README.md", "./src/main.ts", "src/../README.md"])("leaves a read inside (%s) free by both", (path) => {
    expect(byTool(path)).toBe("allow T0");
    expect(byCommand(`cat ${path}`)).toBe("allow T2");
  });

  it("by a contained command reaches nothing outside, so only the file tool asks", () => {
    for (const containment of ["transactional", "copied"]) expect(byCommand("cat ../x", { containment })).toBe("allow T2");
    expect(byTool("../x")).toBe("ask T3");
  });
});
