// Clones from a server that never answers, and says so when the clone has begun; it is killed then. Arguments: folder, address.
import { flushCompileCache } from "node:module";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Governance } from "../../../../agent-server/governance/governance.ts";
import { createToolsFixture } from "../../tools-fixture.ts";

// A process that is killed never gets to write what it compiled.
flushCompileCache();

const [base = "", url = ""] = process.argv.slice(2);
/** The gate asks of this machine's server as of any listed host. */
const listed = (real: Governance): Governance => {
  const named = <T extends { capability: string; args: Record<string, unknown> }>(intent: T): T =>
    intent.capability === "repo_ops" ? { ...intent, args: { ...intent.args, url: "https://github.com/owner/project.git" } } : intent;
  return {
    ...real,
    evaluate: (intent) => real.evaluate(named(intent)),
    authorize: (intent, question, context) => real.authorize(named(intent), question, context),
    redeem: (authorization, intent) => real.redeem(authorization, named(intent)),
  };
};
const fixture = createToolsFixture({ base, posture: "autonomous", networkEnabled: () => true, wrap: listed, home: join(base, "home") });
fixture.answer("allow_once");
const watch = setInterval(() => {
  if (!readdirSync(fixture.workspace).some((name) => name.includes(`-${process.pid}-`))) return;
  clearInterval(watch);
  process.stdout.write("begun\n");
}, 20);
await fixture.run("git_clone", { url, path: "deep/copy" });
